"""What etcd answers, read from the bytes of its messages."""

import re
from typing import Any, NamedTuple

from fencepost.core.malformed import Malformed
from fencepost.drivers.etcd.protobuf import BYTES, VARINT, fields, kinds, read_varint

# Which kind each field is of, by its number, as far as it is looked at (api/etcdserverpb/rpc.proto).
_KEY_VALUE = kinds({1: BYTES, 2: VARINT, 3: VARINT, 5: BYTES, 6: VARINT})
_RANGE = kinds({1: BYTES, 2: BYTES, 3: VARINT})
_TRANSACTION = kinds({1: BYTES, 2: VARINT, 3: BYTES})
_PART = kinds({1: BYTES, 2: BYTES, 3: BYTES, 4: BYTES})
_DELETION = kinds({1: BYTES, 2: VARINT})
_LEASE = kinds({1: BYTES, 3: VARINT, 4: VARINT, 5: BYTES})
_WATCH = kinds({1: BYTES, 2: VARINT, 3: VARINT, 4: VARINT, 5: VARINT, 6: BYTES, 11: BYTES})
_EVENT = kinds({1: VARINT, 2: BYTES})
_TOKEN = kinds({2: BYTES})
_STATUS = kinds({1: BYTES, 2: BYTES, 4: VARINT})
_HEADER = kinds({2: VARINT, 3: VARINT})
# A header as nearly all are: with its fields in order, each once, and none below nothing; the last is the raft term.
_ANY, _REVISION = rb"[\x80-\xff]{0,9}[\x00-\x7f]", rb"[\x80-\xff]{0,8}[\x00-\x7f]"
HEADER = re.compile(rb"(?:\x08%b)?(?:\x10%b)?\x18(%b)(?:\x20%b)?" % (_ANY, _ANY, _REVISION, _ANY), re.DOTALL)


class KeyValue(NamedTuple):
    key: bytes
    created: int
    modified: int
    value: bytes
    lease: int


class Found(NamedTuple):
    """What a range read, and the revision of the store at which it did."""

    revision: int
    pairs: list[KeyValue]
    more: bool = False


class Outcome:
    """Of a transaction: whether its conditions held, and the revision of the store after it: its own, if it wrote."""

    __slots__ = ("_raw", "revision", "succeeded")

    def __init__(self, revision: int, succeeded: bool, raw: list[bytes]) -> None:
        self.revision = revision
        self.succeeded = succeeded
        self._raw = raw

    @property
    def parts(self) -> list[Any]:
        """What each of its parts gave, in order: `Found`, the count of a deletion, or an `Outcome` again."""
        return [_part(each) for each in self._raw]

    def reads(self, count: int) -> list[Found]:
        """What its last parts, so many of them, have read."""
        found = [_part(each) for each in self._raw[-count:]]
        if len(found) < count or not all(isinstance(each, Found) for each in found):
            raise Malformed("a transaction was answered without what it was to read")
        return found

    def nested(self, count: int) -> "list[Outcome]":
        """What came of its first parts, so many of them, each a transaction."""
        found = [_part(each) for each in self._raw[:count]]
        if len(found) < count or not all(isinstance(each, Outcome) for each in found):
            raise Malformed("a transaction was answered without what came of its parts")
        return found


class Lease(NamedTuple):
    """`seconds` left, 0 or less if there is no such lease; `granted` seconds at first; the keys that live on it."""

    seconds: int
    granted: int
    keys: list[bytes]


class Change(NamedTuple):
    """A key was written, or with no `pair` deleted, at that revision."""

    revision: int
    key: bytes
    pair: KeyValue | None


class News(NamedTuple):
    """Of a watch: it was created, it ended (why), or there were changes, in this order, to be read by `change`."""

    watch: int
    revision: int
    created: bool
    ended: str | None
    events: list[bytes]


class Status(NamedTuple):
    member: int
    leader: int
    version: str


def pair(data: bytes) -> KeyValue:
    found: dict[int, Any] = dict(fields(data, _KEY_VALUE))
    get = found.get
    return KeyValue(get(1, b""), get(2, 0), get(3, 0), get(5, b""), get(6, 0))


def _revision(header: bytes) -> int:
    """Every answer begins with cluster, member and revision; only the last is wanted, and often."""
    match = HEADER.fullmatch(header)
    if match is not None:
        return read_varint(match[1], 0)[0]
    about: dict[int, Any] = dict(fields(header, _HEADER))
    return int(about.get(3, 0))


def found(data: bytes) -> Found:
    revision, pairs, more = 0, [], False
    value: Any
    for field, value in fields(data, _RANGE):
        if field == 2:
            pairs.append(pair(value))
        elif field == 1:
            revision = _revision(value)
        elif field == 3:
            more = bool(value)
    return Found(revision, pairs, more)


def outcome(data: bytes) -> Outcome:
    revision, succeeded, parts = 0, False, []
    value: Any
    for field, value in fields(data, _TRANSACTION):
        if field == 3:
            parts.append(value)
        elif field == 2:
            succeeded = bool(value)
        elif field == 1:
            revision = _revision(value)
    return Outcome(revision, succeeded, parts)


def _part(data: bytes) -> Any:
    inner: Any
    for kind, inner in fields(data, _PART):
        if kind == 1:
            return found(inner)
        if kind == 4:
            return outcome(inner)
        if kind in _PART:
            about: dict[int, Any] = dict(fields(inner, _DELETION))
            return about.get(2, 0)
    return None


def lease(data: bytes) -> Lease:
    seconds, granted, keys = 0, 0, []
    value: Any
    for field, value in fields(data, _LEASE):
        if field == 3:
            seconds = value
        elif field == 4:
            granted = value
        elif field == 5:
            keys.append(value)
    return Lease(seconds, granted, keys)


def news(data: bytes) -> News:
    """What a message of a watch stream says. Most of them matter to nobody here, so it reads no more than it must."""
    watch, header, created, ended, compacted, reason = 0, b"", False, False, 0, ""
    events = []
    value: Any
    for field, value in fields(data, _WATCH):
        if field == 11:
            events.append(value)
        elif field == 1:
            header = value
        elif field == 2:
            watch = value
        elif field == 3:
            created = bool(value)
        elif field == 4:
            ended = bool(value)
        elif field == 5:
            compacted = value
        elif field == 6:
            reason = value.decode(errors="replace")
    if compacted:
        ended, reason = True, f"revision {compacted} is the first that is left"
    revision = _revision(header) if created else 0
    return News(watch, revision, created, (reason or "cancelled") if ended else None, events)


def change(event: bytes) -> Change:
    about: dict[int, Any] = dict(fields(event, _EVENT))
    changed = pair(about.get(2, b""))
    return Change(changed.modified, changed.key, None if about.get(1) else changed)


def is_arrival(event: bytes) -> bool:
    """Whether it tells that a key was made that was not there before."""
    revision, _, made = change(event)
    return made is not None and made.created == revision


def token(data: bytes) -> str:
    value: Any
    for field, value in fields(data, _TOKEN):
        if field == 2:
            if not value.isascii() or not value.decode().isprintable():
                raise Malformed("a token that no header could carry")
            return str(value.decode())
    return ""


def status(data: bytes) -> Status:
    about: dict[int, Any] = dict(fields(data, _STATUS))
    header: dict[int, Any] = dict(fields(about.get(1, b""), _HEADER))
    return Status(header.get(2, 0), about.get(4, 0), about.get(2, b"").decode(errors="replace"))
