"""A claim as the state file has it, with its holder beside."""

from typing import NamedTuple

from fencepost.core.claim import Ask, Claim, Mode, Request
from fencepost.core.holder import Holder
from fencepost.core.malformed import is_integer
from fencepost.core.priority import priority_of
from fencepost.engines.sqlite.process import Identity

MODES = {mode.value: mode for mode in Mode}
# SQLite stores anything in any column.
_CLAIM = (str, int, int, str, int, int, int, str, int, int, str, float)
_PRESENCE = (float, int, int, int)
# No system has greater ones, and none takes them.
MOST_PID = 2**31 - 1


class Row(NamedTuple):
    name: str
    waiting: int
    number: int
    holder: str
    serial: int
    part: int
    parts: int
    mode: str
    weight: int
    most: int
    note: str
    since: float
    label: str
    expires_at: float
    pid: int
    started: int
    namespace: int
    mailbox: str | None

    @property
    def key(self) -> tuple[str, int]:
        return self.holder, self.serial

    @property
    def process(self) -> Identity:
        return Identity(self.pid, self.started, self.namespace)

    @property
    def priority(self) -> int:
        """Of one who waits; for a holder 0."""
        return priority_of(self.number)

    def ask(self) -> Ask:
        return Ask(self.name, MODES[self.mode], self.weight, self.most, self.note)

    def claim(self) -> Claim:
        token = None if self.waiting else self.number
        return Claim(Holder(self.holder, self.label), self.serial, self.ask(), token)


def is_well_formed(row: tuple[object, ...]) -> bool:
    """Whether a row is as we write it. What a stranger has left in the file may be anything."""
    claim, holder = row[: len(_CLAIM)], row[len(_CLAIM) :]
    return tuple(map(type, claim)) == _CLAIM and claim[7] in MODES and is_holder(holder)


def is_holder(row: tuple[object, ...]) -> bool:
    """The same of the holder of a lease."""
    label, *presence, mailbox = row
    return type(label) is str and is_present(*presence) and (mailbox is None or type(mailbox) is str)


def is_present(*presence: object) -> bool:
    """The same of when a lease ends, and of the process that has it."""
    return tuple(map(type, presence)) == _PRESENCE and is_integer(presence[1], 0, MOST_PID)


def requests(rows: list[Row]) -> dict[Request, list[Row]]:
    """The requests that the rows are parts of, in the order of their turns."""
    groups: dict[tuple[str, int], list[Row]] = {}
    for row in sorted(rows, key=lambda row: row.number):
        groups.setdefault(row.key, []).append(row)
    found = {}
    for parts in groups.values():
        parts.sort(key=lambda row: row.part)
        first = parts[0]
        asks = tuple(row.ask() for row in parts)
        found[Request(Holder(first.holder, first.label), first.serial, asks, first.priority)] = parts
    return found
