"""A request as it stands in a value of Consul's, there and back."""

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable
from typing import Any, NamedTuple

from fencepost.core.claim import Ask, Claim, Mode, Request
from fencepost.core.holder import Holder
from fencepost.core.malformed import STUMBLES, is_integer, is_number, is_text
from fencepost.core.name import is_name
from fencepost.core.priority import HIGHEST, LOWEST
from fencepost.core.remembered import remembered
from fencepost.engines.consul.transaction import MOST_OPERATIONS

# Who holds a lock that none of us took.
STRANGER = Holder("", "another client")
MARK = "fencepost"
# How many operations it takes at most to grant one name that was waited for: see `scene.grant`.
MOST_ALONE, MOST_SHARED = 4, 5


class Record(NamedTuple):
    """Who asks for what. `at` is the server's time when it came, or was granted; `granted` says so where it shares.
    `token` stands only in the record of one that held the name alone before: else it is the index of its key.
    """

    request: Request
    ttl: float
    at: float
    granted: bool = False
    token: int = 0

    @property
    def key(self) -> tuple[str, int]:
        return self.request.holder.id, self.request.serial

    def concerns(self, name: str) -> bool:
        return any(ask.name == name for ask in self.request.asks)

    def claim(self, name: str, token: int | None) -> Claim:
        ask = next(ask for ask in self.request.asks if ask.name == name)
        return Claim(self.request.holder, self.request.serial, ask, token)


def is_grantable(asks: Iterable[Ask]) -> bool:
    """Whether one transaction can make one who waits the holder of all that it asks for."""
    return sum(MOST_ALONE if ask.mode is Mode.EXCLUSIVE else MOST_SHARED for ask in asks) <= MOST_OPERATIONS


def write(record: Record) -> str:
    return pack(record).decode()


def pack(record: Record) -> bytes:
    (holder, label), serial, asks, priority = record.request
    told = "true" if record.granted else "false"
    first = f'"priority":{priority},' if priority else ""
    kept = f'"token":{record.token},' if record.token else ""
    text = (
        f'{{"{MARK}":1,"holder":"{holder}","label":{_quoted(label)},"serial":{serial},"ttl":{record.ttl},'
        f'"at":{record.at:.3f},"granted":{told},{first}{kept}"asks":{_asked(asks)}}}'
    )
    return b64encode(text.encode())


@remembered(len)
def _quoted(text: str) -> str:
    return json.dumps(text)


@remembered(lambda asks: sum(len(ask.name) + len(ask.note) for ask in asks))
def _asked(asks: tuple[Ask, ...]) -> str:
    return json.dumps(asks)


@remembered(len)
def read(value: str) -> Record | None:
    """None if the value is not of our making."""
    found = _decode(value)
    if found is None or "holder" not in found:
        return None
    try:
        asks = tuple(Ask(name, Mode(mode), weight, limit, note) for name, mode, weight, limit, note in found["asks"])
        request = Request(Holder(found["holder"], found["label"]), found["serial"], asks, found.get("priority", 0))
        record = Record(request, found["ttl"], found["at"], found["granted"], found.get("token", 0))
    except STUMBLES:
        return None
    return record if _is_well_formed(record) else None


def _is_well_formed(record: Record) -> bool:
    """Whether all of it is as we write it: a stranger may have written anything."""
    holder, serial, asks, priority = record.request
    return (
        all(map(is_text, holder))
        and is_integer(serial)
        and is_integer(priority, LOWEST, HIGHEST)
        and is_integer(record.token)
        and isinstance(record.granted, bool)
        and is_number(record.ttl)
        and is_number(record.at)
        and all(is_name(ask.name) and is_text(ask.note) for ask in asks)
        and 0 < len({ask.name for ask in asks}) == len(asks)
        and is_grantable(asks)
        and all(is_integer(ask.weight, 1) and is_integer(ask.limit, 1) for ask in asks)
    )


def shared_by(record: Record) -> str:
    """The value of a lock that several hold together: who came last, so that it changes with each."""
    holder, serial = record.key
    return _encode({MARK: 1, "shared": f"{holder}-{serial}"})


@remembered(len)
def is_shared(value: str) -> bool:
    found = _decode(value)
    return found is not None and "shared" in found


def _encode(value: Any) -> str:
    return b64encode(json.dumps(value, separators=(",", ":")).encode()).decode()


def _decode(value: str) -> dict[str, Any] | None:
    try:
        found = json.loads(b64decode(value))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and MARK in found else None
