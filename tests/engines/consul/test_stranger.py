"""Records in Consul that somebody else has written, and answers that no agent gives."""

import json
import sys
from base64 import b64encode
from collections.abc import Callable

import pytest

from fencepost.core.claim import Ask, Request
from fencepost.core.holder import Holder
from fencepost.core.malformed import Malformed
from fencepost.core.remembered import SMALL
from fencepost.engines.consul.audit import read_audit, write_audit
from fencepost.engines.consul.record import Record, is_shared, pack, read
from fencepost.engines.consul.scene import next_step, view_of
from fencepost.engines.consul.session import first_node, session_id, session_list
from fencepost.engines.consul.shortcut import token_of
from fencepost.engines.consul.timekeeper import Timekeeper
from fencepost.engines.consul.transaction import LOCK_FLAG, Pair, conflict_of, listed, lock, pairs_of
from fencepost.testing.contract.hostile import VALUES, mutations

pytestmark = pytest.mark.unit

RECORD = {
    "fencepost": "1",
    "holder": '"h"',
    "label": '"l"',
    "serial": "1",
    "ttl": "60.0",
    "at": "1.0",
    "granted": "false",
    "priority": "1",
    "token": "7",
    "asks": '[["a","counted",1,2,"note"]]',
}
ASKS = (
    *("[]", "[1]", '[["a"]]', '[["a","x",1,1,""]]', '[["","shared",1,1,""]]', '[["b","shared",1,1,""]]'),
    *('[[["a"],"shared",1,1,""]]', '[["a","shared",1,1,""],[{},"exclusive",1,1,""]]'),
)
HOSTILE = [
    *VALUES.values(),
    *mutations(RECORD).values(),
    *(mutations({**RECORD, "asks": each})["a record of ours"] for each in ASKS),
]


def encoded(value: bytes) -> str:
    return b64encode(value).decode()


def test_a_record_of_ours_is_read() -> None:
    found = read(encoded(mutations(RECORD)["a record of ours"]))
    assert found is not None
    assert (found.key, found.token, found.request.asks[0].limit) == (("h", 1), 7, 2)


@pytest.mark.parametrize("value", [*map(encoded, HOSTILE), "no base64", "\ud800"])
def test_whatever_stands_there_can_be_reckoned_with(value: str) -> None:
    for session in ("s", ""):
        pairs = {key: Pair(key, value, session, LOCK_FLAG, 5, 6) for key in ("a/.lock", "a/.lock/h-1", "a/.lock/other")}
        view = view_of("a", "a/.lock", pairs)
        assert all(claim.name == "a" for claim in view.claims())
        json.dumps(next_step({"a": view}, 1.0)).encode()
    is_shared(value)


@pytest.mark.parametrize("value", VALUES.values())
def test_a_record_of_evictions_that_was_overwritten_tells_of_none(value: bytes) -> None:
    pair = Pair("k", encoded(value), "", 0, 1, 1)
    assert read_audit(pair) == []
    assert read_audit(pair._replace(value=encoded(b'[["a",1,"l","by",2.0],["a","x","l","by",2.0]]')))[0].token == 1


def test_one_eviction_too_long_to_be_kept_is_left_out() -> None:
    from fencepost.engines.consul.audit import Removal

    assert write_audit([Removal("a", 1, "x" * 500_000, "by", 1.0)]) == encoded(b"[]")


ANSWERS: list[Callable[[bytes], object]] = [
    lambda body: pairs_of([lock("a", "", "s")], body),
    listed,
    conflict_of,
    session_id,
    session_list,
    first_node,
]
BODIES = [
    *VALUES.values(),
    b"",
    b"null",
    b"5",
    b'{"Results":[{}]}',
    b'{"Results":[]}',
    b'{"Results":[{"KV":{"Key":5,"Value":null,"Flags":0,"CreateIndex":1,"ModifyIndex":1}}]}',
    b'{"Results":[{"KV":{"Key":"a","Value":null,"Flags":0,"CreateIndex":1,"ModifyIndex":"x"}}]}',
    b'{"Results":[{"KV":{"Key":"a","Value":null,"Flags":0,"CreateIndex":1,"ModifyIndex":1e999}}]}',
    b'[{"Key":"\\ud800","Value":null,"Flags":0,"CreateIndex":1,"ModifyIndex":1}]',
    b'{"Errors":[{"OpIndex":"x"}]}',
    b'{"ID":"a b\\r\\nc"}',
    b'[{"ID":5,"Name":"n"}]',
    b'[{"Node":5}]',
]


@pytest.mark.parametrize("decode", ANSWERS)
@pytest.mark.parametrize("body", BODIES)
def test_what_is_no_answer_is_malformed_and_nothing_else(decode: Callable[[bytes], object], body: bytes) -> None:
    with pytest.raises(Malformed):
        decode(body)


@pytest.mark.parametrize(
    "body", [b'"KV":' * 3, b'"KV":"KV":"KV":"ModifyIndex":x}', b'"KV":"KV":"KV":"ModifyIndex":' + b"9" * 30]
)
def test_a_claim_answered_without_an_index_is_malformed(body: bytes) -> None:
    with pytest.raises(Malformed):
        token_of(body)


@pytest.mark.parametrize("date", [b"\xff", b"yesterday", b"Mon, 99 Foo 2026 99:99:99 GMT", b"9" * 5000])
def test_a_server_without_a_clock_has_no_time(date: bytes) -> None:
    keeper = Timekeeper()
    keeper.hear(date)
    assert keeper.now() < 3600


def written(label: str = "l", note: str = "") -> bytes:
    """As we do on behalf of others, too: whoever wrote that."""
    return pack(Record(Request(Holder("h", label), 1, (Ask("a", note=note),)), 60.0, 1.0))


@pytest.mark.parametrize(
    "kind",
    [read, is_shared, written, lambda note: written(note=note)],
    ids=["a record", "a shared lock", "a label", "a note"],
)
def test_nothing_keeps_a_large_value(kind: Callable[[str], object]) -> None:
    value = encoded(b"x" * SMALL)
    before = sys.getrefcount(value)
    kind(value)
    assert sys.getrefcount(value) == before
