"""What stands in the value of a contender's key: who asks, and for what. A key of somebody else's has nothing.

Serials have one width, so that the value of one request differs from that of the next in nothing else.
"""

import json
import re
from typing import Any, NamedTuple

from fencepost.core.claim import Ask, Claim, Mode, Request
from fencepost.core.holder import Holder
from fencepost.core.malformed import STUMBLES, is_integer, is_text
from fencepost.core.name import check_name
from fencepost.core.remembered import remembered
from fencepost.drivers.etcd.answer import KeyValue

SERIAL = re.compile("[0-9]{1,18}")
# Of one request. etcd itself takes no more than 128 puts in a transaction, unless it is told to.
MOST_NAMES = 10_000


class Contender(NamedTuple):
    """Somebody in the queue of one name. `names` are all that its request asks for together."""

    key: bytes
    created: int
    lease: int
    holder: Holder
    serial: int
    ask: Ask
    names: tuple[str, ...]

    @property
    def request(self) -> tuple[str, int]:
        return self.holder.id, self.serial

    def claim(self, *, granted: bool) -> Claim:
        return Claim(self.holder, self.serial, self.ask, self.created if granted else None)


def serial_text(serial: int) -> bytes:
    return b"%010d" % serial


def value_of(request: Request, ask: Ask, serial: bytes) -> bytes:
    holder, _, asks, _ = request
    about: dict[str, object] = {"holder": holder.id, "label": holder.label, "mode": ask.mode}
    if ask.mode is Mode.COUNTED:
        about |= {"weight": ask.weight, "limit": ask.limit}
    if ask.note:
        about["note"] = ask.note
    if len(asks) > 1:
        about["names"] = [each.name for each in asks]
    rest = json.dumps(about, separators=(",", ":"), ensure_ascii=False).encode()
    return b'{"serial":"%b",%b' % (serial, rest[1:])


# Whoever comes to a long queue reads it as a whole, and nearly all of it was read before.
@remembered(lambda pair, _: len(pair.value))
def contender_of(pair: KeyValue, name: str) -> Contender:
    """Who stands there. Strangers are exclusive: that is all their clients know."""
    if pair.value.startswith(b"{"):
        try:
            return _ours(pair, name, json.loads(pair.value))
        except STUMBLES:
            pass
    stranger = Holder(f"{pair.lease:x}", f"etcd lease {pair.lease:x}")
    return Contender(pair.key, pair.created, pair.lease, stranger, pair.created, Ask(name), (name,))


def _ours(pair: KeyValue, name: str, about: dict[str, Any]) -> Contender:
    """Of one of ours. Whatever is not as we write it is a stranger's, who may write what it likes."""
    holder, serial = Holder(about["holder"], about["label"]), about["serial"]
    names = tuple(check_name(each) for each in about.get("names", (name,)))
    ask = Ask(name, Mode(about["mode"]), about.get("weight", 1), about.get("limit", 1), about.get("note", ""))
    well_formed = (
        all(map(is_text, (*holder, ask.note)))
        and is_integer(ask.weight, 1)
        and is_integer(ask.limit, 1)
        and SERIAL.fullmatch(serial)
        and name in names
        and len(names) <= MOST_NAMES
    )
    if not well_formed:
        raise ValueError("a record of somebody else's")
    return Contender(pair.key, pair.created, pair.lease, holder, int(serial), ask, names)


class Eviction(NamedTuple):
    evicted: str
    by: str


# What is told of an eviction whose record somebody has overwritten.
UNREADABLE = Eviction("?", "?")


def eviction_value(evicted: str, by: str) -> bytes:
    return json.dumps({"evicted": evicted, "by": by}, ensure_ascii=False).encode()


def eviction_of(value: bytes) -> Eviction:
    try:
        about = json.loads(value)
        found = Eviction(about["evicted"], about["by"])
    except STUMBLES:
        return UNREADABLE
    return found if all(map(is_text, found)) else UNREADABLE
