"""Who holds and who waits, as plain data: what every engine has to remember, in the shortest form.

Nothing here waits or reads a clock. Callers go through `do`, pass the time in, and are told through `wake`.

What counts is the leases and the entries on them, and what is done to those is one step each: a lease ends, an entry
comes or goes, loses a name, or gets its tokens. The queues follow from them. So after an exception at any point, out of
a signal handler, the queues are made again and everybody looks.
"""

import itertools
import math
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from fencepost._runtime import fork
from fencepost._runtime.state import StateLock
from fencepost.contract.answer import Busy, Eviction, Gone, Granted, Queued, Renewal, Snapshot, Standing
from fencepost.core.claim import Ask, Claim, Mode, Request, admits, admitted
from fencepost.core.holder import Holder
from fencepost.core.priority import turn_of
from fencepost.core.token import next_token
from fencepost.engines.memory.cell import Cells
from fencepost.engines.memory.meter import Meters

T = TypeVar("T")
AUDIT_LENGTH = 1000
Wake = Callable[[], object]


@dataclass(slots=True)
class Lease:
    """Whatever was sent may come late, or twice. What makes that harmless is that a lease knows which of its requests
    are over: sessions count them, so these are all up to the highest, but for those that stand in the book or are yet
    to come.
    """

    holder: Holder
    expires_at: float
    # In order of arrival, waiting and granted.
    entries: dict[int, "Entry"] = field(default_factory=dict)
    highest: int = 0
    to_come: set[int] = field(default_factory=set)

    def hears_of(self, serial: int) -> None:
        if serial > self.highest:
            if serial > self.highest + 1:
                self.to_come.update(range(self.highest + 1, serial))
            self.highest = serial
        else:
            self.to_come.discard(serial)

    def is_over(self, serial: int) -> bool:
        return serial <= self.highest and serial not in self.entries and serial not in self.to_come


@dataclass(slots=True)
class Entry:
    """A request as it stands: what it still wants or holds, by name; no token means that it waits."""

    request: Request
    asks: dict[str, Ask]
    turn: int
    since: float
    wake: Wake
    tokens: dict[str, int] = field(default_factory=dict)
    # Whether its holder, which must have heard of the grant then, has given back a part of it.
    given_back: bool = False

    def claim(self, name: str) -> Claim:
        return Claim(self.request.holder, self.request.serial, self.asks[name], self.tokens.get(name))


@dataclass(slots=True)
class Evicted:
    claim: Claim
    token: int
    by: str
    at: float


class Book:
    def __init__(self) -> None:
        self._lock = StateLock()
        # While something is done: if it still is when the next one comes, that one was interrupted.
        self._torn = False
        self.cells = Cells()
        self.meters = Meters()
        self._leases: dict[str, Lease] = {}
        # For each name, in the order of their turns, everyone who holds it or waits for it.
        self._queues: dict[str, dict[tuple[str, int], Entry]] = {}
        self._evictions: deque[Evicted] = deque(maxlen=AUDIT_LENGTH)
        self._last_token = 0
        # Before that no lease ends: whoever opens or renews one that ends earlier says so here.
        self._quiet_until = math.inf
        self._tickets = itertools.count()

    def do(self, work: Callable[..., T], *args: object) -> T:
        """What `work` returns, done while nobody else changes anything."""
        with self._lock:
            if self._torn:
                self._mend()
            self._torn = True
            result = work(*args)
            self._torn = False
        return result

    def _mend(self) -> None:
        """Whatever was interrupted has happened or not; nothing is half done after this, and all look again."""
        entries = [entry for lease in self._leases.values() for entry in list(lease.entries.values())]
        self._queues = {}
        latest = max((entry.since for entry in entries), default=0.0)
        for entry in sorted(entries, key=lambda entry: entry.turn):
            for name in list(entry.tokens):
                if name not in entry.asks:
                    del entry.tokens[name]
            for name in entry.asks:
                self._queues.setdefault(name, {})[entry.request.holder.id, entry.request.serial] = entry
            if not entry.asks:
                del self._leases[entry.request.holder.id].entries[entry.request.serial]
        # To be found out anew.
        self._quiet_until = -math.inf
        self._promote(list(self._queues), latest)
        for entry in entries:
            entry.wake()
        self.cells.wake_all()

    def open(self, holder: Holder, expires_at: float) -> None:
        # Once: if it comes again, the lease has requests already.
        self._leases.setdefault(holder.id, Lease(holder, expires_at))
        self._quiet_until = min(self._quiet_until, expires_at)

    def renew(self, holder: Holder, claims: Collection[Claim], now: float, expires_at: float) -> Renewal:
        lease = self._alive(holder, now)
        if lease is None:
            return Renewal(alive=False)
        lease.expires_at = expires_at
        self._quiet_until = min(self._quiet_until, expires_at)
        gone = []
        for claim in claims:
            entry = lease.entries.get(claim.serial)
            if entry is None or claim.name not in entry.tokens:
                gone.append((claim.serial, claim.name, self._why_gone(claim)))
        return Renewal(alive=True, gone=tuple(gone))

    def close(self, holder: Holder, now: float) -> None:
        lease = self._leases.pop(holder.id, None)
        if lease is not None:
            self._remove(list(lease.entries.values()), now)

    def claim(self, request: Request, wait: Wake | None, now: float) -> Granted | Queued | Busy | Gone:
        lease = self._alive(request.holder, now)
        if lease is None:
            return Gone("the lease has ended")
        entry = lease.entries.get(request.serial)
        if lease.is_over(request.serial) or (entry is not None and entry.given_back):
            return Gone("the request was withdrawn") if wait else Busy(self._holding(request))
        if entry is not None and len(entry.asks) < len(request.asks):
            # Part of it was evicted before its holder heard of the grant. All or none: start again.
            self._remove([entry], now)
            entry = None
        if entry is None:
            asks = {ask.name: ask for ask in request.asks}
            self._bury(now)
            turn = turn_of(next(self._tickets), request.priority)
            entry = Entry(request, asks, turn, now, wait or _nobody)
            lease.hears_of(request.serial)
            lease.entries[request.serial] = entry
            for name in asks:
                self._line_up(name, entry)
            self._promote(asks, now)
        elif wait is not None:
            entry.wake = wait
        if entry.tokens or wait is not None:
            return self._answer(entry)
        seen = self._ahead(entry)
        self._remove([entry], now)
        return Busy(seen)

    def check(self, request: Request, wake: Wake, now: float) -> Granted | Queued | Gone:
        """How a queued request stands, now that something may have changed. One that was evicted starts again."""
        self._bury(now)
        answer = self.claim(request, wake, now)
        assert not isinstance(answer, Busy)
        return answer

    def next_expiry(self, queued: Queued) -> float:
        """When to check again if nobody wakes us: the first end of a lease among those ahead."""
        leases = [self._leases.get(claim.holder.id) for claim in queued.ahead]
        return min((lease.expires_at for lease in leases if lease is not None), default=0.0)

    def withdraw(self, request: Request, now: float) -> None:
        lease = self._leases.get(request.holder.id)
        if lease is None:
            return
        lease.hears_of(request.serial)
        entry = lease.entries.get(request.serial)
        if entry is not None:
            self._remove([entry], now)

    def release(self, claim: Claim, now: float) -> bool:
        return self.release_all((claim,), now)[0]

    def release_all(self, claims: Sequence[Claim], now: float) -> tuple[bool, ...]:
        """All are free before anybody is granted one: a request for many is looked at once, not once for each."""
        held = tuple(self._let_go(claim, now) for claim in claims)
        self._promote([claim.name for claim, was_held in zip(claims, held, strict=True) if was_held], now)
        return held

    def _let_go(self, claim: Claim, now: float) -> bool:
        lease = self._alive(claim.holder, now)
        if lease is None:
            return False
        lease.hears_of(claim.serial)
        entry = lease.entries.get(claim.serial)
        if entry is None or entry.tokens.get(claim.name) != claim.token:
            return False
        entry.given_back = True
        self._drop(entry, claim.name)
        return True

    def share(self, claim: Claim, now: float) -> bool:
        lease = self._alive(claim.holder, now)
        entry = None if lease is None else lease.entries.get(claim.serial)
        if entry is None or entry.tokens.get(claim.name) != claim.token:
            return False
        entry.asks[claim.name] = entry.asks[claim.name]._replace(mode=Mode.SHARED)
        self._promote([claim.name], now)
        return True

    def look(self, name: str, now: float) -> Snapshot:
        self._bury(now)
        waiters = [entry for entry in self._queue(name) if not entry.tokens]
        return Snapshot(
            name,
            holders=tuple(self._standing(entry, name, now) for entry in self._holders(name)),
            waiters=tuple(self._standing(entry, name, now, entry.request.priority) for entry in waiters),
            evictions=tuple(
                Eviction(name, each.token, each.claim.holder.label, each.by, now - each.at)
                for each in reversed(self._evictions)
                if each.claim.name == name
            ),
        )

    def names(self, prefix: str, now: float) -> list[str]:
        self._bury(now)
        return sorted(name for name in self._queues if name.startswith(prefix))

    def evict(self, name: str, by: str, now: float) -> tuple[Claim, ...]:
        self._bury(now)
        taken = []
        for entry in self._holders(name):
            claim = entry.claim(name)
            self._evictions.append(Evicted(claim, entry.tokens[name], by, now))
            self._drop(entry, name)
            if not entry.asks:
                # Its holder may not have heard of the grant yet, and asks again.
                self._leases[claim.holder.id].to_come.add(claim.serial)
            taken.append(claim)
        self._promote([name], now)
        return tuple(taken)

    def _alive(self, holder: Holder, now: float) -> Lease | None:
        lease = self._leases.get(holder.id)
        if lease is not None and lease.expires_at <= now:
            self.close(holder, now)
            return None
        return lease

    def _bury(self, now: float) -> None:
        """Remove whoever stands in any queue on an ended lease."""
        if now >= self._quiet_until:
            for lease in list(self._leases.values()):
                self._alive(lease.holder, now)
            self._quiet_until = min((lease.expires_at for lease in self._leases.values()), default=math.inf)

    def _queue(self, name: str) -> list[Entry]:
        """All who wait, in the order of their turns, and those who hold among them."""
        return list(self._queues.get(name, {}).values())

    def _line_up(self, name: str, entry: Entry) -> None:
        queue = self._queues.setdefault(name, {})
        overtakes = bool(queue) and next(reversed(queue.values())).turn > entry.turn
        queue[entry.request.holder.id, entry.request.serial] = entry
        if overtakes:
            self._queues[name] = dict(sorted(queue.items(), key=lambda item: item[1].turn))
            self._tell_behind(name, entry.turn)

    def _holders(self, name: str) -> list[Entry]:
        """In the order of their grants."""
        found = [entry for entry in self._queue(name) if name in entry.tokens]
        return sorted(found, key=lambda entry: entry.tokens[name])

    def _tell_behind(self, name: str, turn: int) -> None:
        """Whoever stands behind this turn has somebody else to watch now."""
        for behind in self._queue(name):
            if behind.turn > turn and not behind.tokens:
                behind.wake()
                break

    def _remove(self, entries: Iterable[Entry], now: float) -> None:
        # In order: who is granted first may not depend on how the interpreter keeps a set.
        freed: dict[str, None] = {}
        for entry in entries:
            # It looks once we are through. Afterwards nobody could find it, if we are interrupted here.
            entry.wake()
            lease = self._leases.get(entry.request.holder.id)
            if lease is not None:
                # First, so that it goes whole: a request without some of its names would be another.
                lease.entries.pop(entry.request.serial, None)
            for name in list(entry.asks):
                freed[name] = None
                self._drop(entry, name)
        self._promote(freed, now)

    def _drop(self, entry: Entry, name: str) -> None:
        """Take one name out of a request, and forget what is empty."""
        holder_id, serial = entry.request.holder.id, entry.request.serial
        del self._queues[name][holder_id, serial]
        if not self._queues[name]:
            del self._queues[name]
        del entry.asks[name]
        if entry.tokens.pop(name, None) is None:
            # Whoever watched this waiter has somebody else to watch now.
            self._tell_behind(name, entry.turn)
        lease = self._leases.get(holder_id)
        if not entry.asks and lease is not None:
            lease.entries.pop(serial, None)

    def _promote(self, freed: Collection[str], now: float) -> None:
        """Grant, in the order of their turns, whatever the change to the names in `freed` makes possible."""
        tangled = dict.fromkeys(name for name in freed if not self._promote_one(name, now))
        if tangled:
            self._promote_tangled(tangled, now)

    def _promote_one(self, name: str, now: float) -> bool:
        """For one name, up to the first who must wait. False if somebody on the way there wants others as well."""
        queue = self._queue(name)
        holding = [entry.asks[name] for entry in queue if entry.tokens]
        for entry in queue:
            if entry.tokens:
                continue
            if len(entry.request.asks) > 1:
                return False
            if not admits(holding, entry.asks[name]):
                break
            self._grant(entry, now)
            holding.append(entry.asks[name])
        return True

    def _promote_tangled(self, freed: Collection[str], now: float) -> None:
        """For names that some want together with others."""
        # Each once, in however many of the queues it stands.
        candidates = {id(entry): entry for name in freed for entry in self._queue(name) if not entry.tokens}
        if not candidates:
            return
        names = {name for entry in candidates.values() for name in entry.asks}
        queues = {name: self._queue(name) for name in names}
        holding = {name: [each.asks[name] for each in queue if name in each.tokens] for name, queue in queues.items()}
        waiting = {entry.turn: entry for queue in queues.values() for entry in queue if not entry.tokens}
        in_order = {id(waiting[turn].request): waiting[turn] for turn in sorted(waiting)}
        moved: dict[str, None] = {}
        for request in admitted(holding, [entry.request for entry in in_order.values()], freed):
            entry = in_order[id(request)]
            self._grant(entry, now)
            moved.update(dict.fromkeys(entry.asks))
        # Whoever was granted several names waits no longer in the way of those behind it on the others.
        if further := [name for name in moved if name not in freed]:
            self._promote(further, now)

    def _standing(self, entry: Entry, name: str, now: float, priority: int = 0) -> Standing:
        left = self._leases[entry.request.holder.id].expires_at - now
        return Standing(entry.claim(name), now - entry.since, left, priority)

    def _grant(self, entry: Entry, now: float) -> None:
        entry.tokens = {name: self._mint() for name in entry.asks}
        entry.since = now
        entry.wake()

    def _mint(self) -> int:
        self._last_token = next_token(self._last_token, time.time_ns() // 1000)
        return self._last_token

    def _answer(self, entry: Entry) -> Granted | Queued:
        if entry.tokens:
            return Granted(tuple(entry.tokens[ask.name] for ask in entry.request.asks))
        return Queued(entry.request, self._ahead(entry))

    def _holding(self, request: Request) -> tuple[Claim, ...]:
        """Who holds what the request is about."""
        return tuple(entry.claim(ask.name) for ask in request.asks for entry in self._holders(ask.name))

    def _ahead(self, entry: Entry) -> tuple[Claim, ...]:
        """As `ahead` has it of each name; sought from the end, where whoever has just come stands."""
        found: list[Claim] = []
        for name in entry.asks:
            line = reversed(self._queues[name].values())
            for each in line:
                if each is entry:
                    break
            before = next((each for each in line if not each.tokens), None)
            found += [each.claim(name) for each in (self._holders(name) if before is None else [before])]
        return tuple(found)

    def _why_gone(self, claim: Claim) -> str:
        for each in reversed(self._evictions):
            if each.token == claim.token and each.claim.holder.id == claim.holder.id:
                return f"evicted by {each.by}"
        return "the engine no longer has it"


def _nobody() -> None:
    """Nobody waits: the ask was not to."""


_books: dict[str, Book] = {}


def book(name: str) -> Book:
    """The one book of that name in this process."""
    return _books.setdefault(name, Book())


# A forked child starts with empty books: what stands in the parent's is not its own to see or free.
fork.in_child(_books.clear)
