"""The way of nearly every lock: one name, for one holder alone, nobody else there. Written out, for it is short.

The transactions are the same as elsewhere, as text that is put together from parts that do not change, and their
answers are read without taking them apart: where there is more in one than expected, it is read the long way.
"""

import json
from functools import lru_cache

from fencepost.core.claim import Mode, Request
from fencepost.core.malformed import Malformed
from fencepost.engines.consul.lease import Lease
from fencepost.engines.consul.record import pack
from fencepost.engines.consul.transaction import LOCK_FLAG

# What a claim reads if nobody else is there: the lease's own key, and the lock twice, locked and looked at.
ALONE = 3
INDEX = b'"ModifyIndex":'
MOST_DIGITS = 19
CLAIM = (
    b'[{"KV":{"Verb":"check-index","Key":%b,"Index":%d}},{"KV":{"Verb":"check-not-exists","Key":%b}},'
    b'{"KV":{"Verb":"lock","Key":%b,"Value":"%b","Session":"%b","Flags":%d}},{"KV":{"Verb":"get-tree","Key":%b}}]'
)
RELEASE = b'[{"KV":{"Verb":"check-index","Key":%b,"Index":%d}},{"KV":{"Verb":"delete","Key":%b}}]'


def is_short(request: Request) -> bool:
    return len(request.asks) == 1 and request.asks[0].mode is Mode.EXCLUSIVE


def claim(lease: Lease, request: Request, lock: str, now: float) -> bytes:
    key = _quoted(lock)
    value = pack(lease.record(request, now))
    session = lease.session.encode()
    return CLAIM % (_quoted(lease.key), lease.epoch, key, key, value, session, LOCK_FLAG, key)


def token_of(body: bytes) -> int | None:
    """The token of a claim that was granted, unless somebody else is there."""
    if body.count(b'"KV":') != ALONE:
        return None
    _, found, rest = body.rpartition(INDEX)
    number = rest.partition(b"}")[0].strip()
    if not found or not number.isdigit() or len(number) > MOST_DIGITS:
        raise Malformed("a claim was answered without an index")
    return int(number)


def release(lock: str, token: int) -> bytes:
    key = _quoted(lock)
    return RELEASE % (key, token, key)


@lru_cache(maxsize=10_000)
def _quoted(key: str) -> bytes:
    return json.dumps(key).encode()
