"""Which connection of a lease holds what, and which one may take or wait for what next.

An advisory lock belongs to the connection that took it, and a connection may take the same lock twice without being
asked whether it has it. So no connection takes a name twice, and only one that holds nothing waits: whoever waits on
a connection can neither give back what it holds nor keep it.

A signal handler may raise after any call, also of what is here. So whoever uses a connection, or changes an entry, has
a mark of its own for that, which it takes away by itself at the end, whether or not it was told that it is there. And
nothing is called between two changes that belong together.
"""

from dataclasses import dataclass, field
from typing import Generic, TypeVar

from fencepost._runtime.state import StateLock
from fencepost.core.claim import Ask, Claim, Mode, Request
from fencepost.core.holder import Holder

MOST_SPARE = 2
Connection = TypeVar("Connection")


@dataclass(slots=True, eq=False)
class Hold(Generic[Connection]):
    """One connection, and the names that are locked on it."""

    connection: Connection
    held: dict[str, "Entry[Connection]"] = field(default_factory=dict)
    # Names that were tried here, until it is known what came of that: the answer may be on its way still.
    tried: set[str] = field(default_factory=set)
    # The marks of those who are at it, and whether one of them waits there for as long as it takes.
    users: set[object] = field(default_factory=set)
    waiting: bool = False
    # Whether a renewal has left it out, which says nothing of a lock that comes here then.
    unasked: bool = False
    # Whether the server has the names of what is held.
    written_down: bool = True
    # Whether the connection is no more, and no lock on it.
    ended: bool = False

    @property
    def empty(self) -> bool:
        return not self.held and not self.tried and not self.users and not self.waiting


class Entry(Generic[Connection]):
    """A request as it stands on its connection: with a token it is held; without one, anything may have come of it."""

    __slots__ = ("ask", "gripped", "hold", "request", "sharing", "since", "token", "waiting")

    def __init__(self, request: Request, hold: Hold[Connection], since: float, *, waiting: bool) -> None:
        self.request = request
        self.ask: Ask = request.asks[0]
        self.hold = hold
        self.since = since
        self.waiting = waiting
        self.token: int | None = None
        # Whether it was asked to go on as a reader, and nobody has heard what came of that.
        self.sharing = False
        # The mark of whoever is giving it back or changing it.
        self.gripped: object = None

    @property
    def claim(self) -> Claim:
        return Claim(self.request.holder, self.request.serial, self.ask, self.token)


class Lease(Generic[Connection]):
    def __init__(self, holder: Holder, ttl: float, connection: Connection, *, trip: int) -> None:
        self.holder = holder
        self.ttl = ttl
        # In ms: an answer that is not there by then is being waited for.
        self.trip = trip
        self.main: Hold[Connection] = Hold(connection)
        self.holds: list[Hold[Connection]] = [self.main]
        self.entries: dict[int, Entry[Connection]] = {}
        self.evicted: dict[int, str] = {}
        self.over: str | None = None
        self._state = StateLock()

    def is_over(self) -> bool:
        return self.over is not None

    def begin(self, request: Request, now: float) -> Entry[Connection] | None:
        """The request on a connection that holds nothing and that nobody uses: from now on it may be waited on."""
        with self._state:
            for hold in self.holds:
                if hold.empty:
                    entry = Entry(request, hold, now, waiting=True)
                    self.entries[request.serial] = entry
                    hold.waiting = True
                    hold.unasked = False
                    return entry
        return None

    def to_try(self, request: Request, now: float) -> Entry[Connection] | None:
        """The request on a connection where its name may be tried now; it counts as tried there from now on."""
        name = request.asks[0].name
        with self._state:
            for hold in self.holds:
                if not hold.waiting and name not in hold.held and name not in hold.tried:
                    if hold.empty:
                        hold.unasked = False
                    entry = Entry(request, hold, now, waiting=False)
                    self.entries[request.serial] = entry
                    hold.tried.add(name)
                    return entry
        return None

    def to_keep(self, mark: object) -> list[Hold[Connection]]:
        """The connections that hold something, and the main one in any case unless it is waited on.

        The others are marked: what comes there after this renewal was sent is not proven by it.
        """
        with self._state:
            found = []
            for hold in self.holds:
                if not hold.waiting and (hold.held or hold is self.main):
                    hold.users.add(mark)
                    found.append(hold)
                else:
                    hold.unasked = True
            return found

    def add(self, hold: Hold[Connection]) -> None:
        """One more connection."""
        with self._state:
            self.holds.append(hold)

    def visit(self, entry: Entry[Connection], mark: object) -> bool:
        """Use its connection as long as the mark is there, if it still stands: nobody waits there meanwhile."""
        with self._state:
            if self.has(entry):
                entry.hold.users.add(mark)
            return self.has(entry)

    def has(self, entry: Entry[Connection]) -> bool:
        return self.entries.get(entry.request.serial) is entry

    def grip(self, entry: Entry[Connection], mark: object) -> bool:
        """Whether the caller may give it back or change it now, and nobody else until `loosen` or `forget`."""
        with self._state:
            if entry.gripped is not None or not self.has(entry):
                return False
            entry.gripped = mark
            # Nobody waits there before the answer has come.
            entry.hold.users.add(mark)
            return True

    def loosen(self, entry: Entry[Connection], mark: object) -> None:
        """Only if it was the one with that mark who gripped it."""
        with self._state:
            if entry.gripped is mark:
                entry.gripped = None
                entry.hold.users.discard(mark)

    def granted(self, entry: Entry[Connection], token: int) -> bool:
        """Note the grant. False if its connection has ended before we heard of it: then it is none."""
        hold = entry.hold
        with self._state:
            if hold.ended:
                return False
            entry.token = token
            hold.tried.discard(entry.ask.name)
            hold.held[entry.ask.name] = entry
            hold.written_down = False
            if entry.waiting:
                entry.waiting = hold.waiting = False
            return True

    def confirm(self, hold: Hold[Connection]) -> bool:
        """The connection has said that it stands. False if it has ended since."""
        with self._state:
            if hold.ended:
                return False
            hold.unasked = False
            return True

    def forget(self, entry: Entry[Connection]) -> Connection | None:
        """The request is neither held nor waited for any more. A connection too many is returned, to be closed."""
        hold = entry.hold
        with self._state:
            if not self.has(entry):
                # Forgotten before: what is there now is another's.
                return None
            name, serial, mark = entry.ask.name, entry.request.serial, entry.gripped
            was_tried = not entry.waiting and entry.token is None
            was_held = hold.held.get(name) is entry
            if was_held:
                del hold.held[name]
                hold.written_down = False
            if entry.waiting:
                entry.waiting = hold.waiting = False
            entry.gripped = None
            del self.entries[serial]
            hold.users.discard(mark)
            if was_tried:
                hold.tried.discard(name)
            if hold is self.main or not hold.empty:
                return None
            spare = sum(each.empty for each in self.holds if each is not self.main)
            if hold in self.holds and spare > MOST_SPARE:
                self.holds.remove(hold)
                return hold.connection
        return None

    def end(self, hold: Hold[Connection]) -> bool:
        """The connection is no more; whether that is the end of the lease: it held something, or was the last."""
        with self._state:
            hold.ended = True
            others = [each for each in self.holds if each is not hold]
            # Of a grant on one that is not asked about yet nobody knows.
            matters = not others or bool(hold.held and not hold.unasked)
            if not matters:
                self.holds = others
                if hold is self.main:
                    self.main = others[0]
            return matters

    def standing(self, name: str, now: float) -> list[tuple[Connection, tuple[Claim, float, float]]]:
        """By connection, what we have of a name or wait for, since when in seconds, and what is left of its lease."""
        found = [entry for entry in list(self.entries.values()) if entry.ask.name == name]
        return [(each.hold.connection, (each.claim, now - each.since, self.ttl)) for each in found]

    def leaving(self, name: str) -> Entry[Connection] | None:
        """What we hold of a name, if somebody is giving it back or changing it."""
        with self._state:
            found = [hold.held[name] for hold in self.holds if name in hold.held]
        return next((entry for entry in found if entry.gripped is not None), None)

    def excluded(self, ask: Ask) -> tuple[Claim, ...]:
        """What we hold ourselves that excludes the ask."""
        with self._state:
            claims = [hold.held[ask.name].claim for hold in self.holds if ask.name in hold.held]
        if ask.mode is Mode.EXCLUSIVE or any(claim.ask.mode is Mode.EXCLUSIVE for claim in claims):
            return tuple(claims)
        return ()
