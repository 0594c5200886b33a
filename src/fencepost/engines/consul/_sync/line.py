# Generated from src/fencepost/engines/consul/_async/line.py by tools/unasync.py. Do not edit: run `make gen`.
"""The queue before each name: seen as it is, moved on, and waited in.

All who wait here for one name share one open question to the agent: whoever comes first asks it for all, about the
foremost of them, and rings for the next when it leaves.
"""

import random
from collections.abc import Iterable, Mapping

from fencepost._runtime import threads as runtime
from fencepost._runtime.clock import LONGEST_NAP
from fencepost._runtime.state import StateLock
from fencepost.contract.answer import Gone, Granted
from fencepost.engines.consul._sync.store import Store
from fencepost.engines.consul.key import lock_of
from fencepost.engines.consul.lease import Entry
from fencepost.engines.consul.scene import View, missing, next_step, tokens_of, view_of, watched
from fencepost.engines.consul.transaction import MOST_OPERATIONS, Conflict, Pair, tree
from fencepost.engines.consul.wire import threads as wire

MOST_STEPS = 1000
MOST_BUSY = 1000
# The end of a lock delay is told by nobody: seconds between looks for it.
LOOK_AGAIN = (0.1, 0.3)
Desk = tuple[str, int] | str


class Line:
    def __init__(self, store: Store, prefix: str, clock: runtime.Clock) -> None:
        self._store = store
        self._prefix = prefix
        self._now = clock.now
        self._waiting: dict[Desk, dict[tuple[str, int], Entry]] = {}
        # Who asks for all at a desk, or did last: it does for as long as it waits.
        self._asking: dict[Desk, Entry] = {}
        self._watches: dict[Desk, wire.Watch] = {}
        # Who was there when it was last looked for all at a desk.
        self._seen: dict[Desk, set[tuple[str, int]]] = {}
        # Names that had a queue when they were last seen: there it is quicker to queue up at once.
        self._busy: dict[str, None] = {}
        # Of who waits where, and of what is busy: threads come, leave and look at the same time.
        self._lock = StateLock()

    def is_busy(self, names: Iterable[str]) -> bool:
        return bool(self._busy) and any(name in self._busy for name in names)

    # Seeing

    def views(self, locks: Mapping[str, str]) -> dict[str, View]:
        return self.views_of(locks, self._store.read([tree(key) for key in locks.values()]))

    def views_of(self, locks: Mapping[str, str], pairs: Mapping[str, Pair]) -> dict[str, View]:
        return {name: view_of(name, key, pairs) for name, key in locks.items()}

    # Moving on

    def settle(self, views: dict[str, View]) -> dict[str, View]:
        """Do whatever is to be done about these names, whoever it is for, and tell those who wait here."""
        for _ in range(MOST_STEPS):
            while further := missing(views):
                # All of them anew: of a request that goes meanwhile, one view would have a part and another none.
                views = self.views({name: lock_of(self._prefix, name) for name in (*views, *further)})
            step = next_step(views, self._store.now())
            if step is None:
                break
            locks = {name: view.key for name, view in views.items()}
            trees = [tree(key) for key in locks.values()]
            together = len(step) + len(trees) <= MOST_OPERATIONS
            found = self._store.transact([*step, *trees] if together else step)
            if not isinstance(found, Conflict):
                views = self.views_of(locks, found) if together else self.views(locks)
            elif found.says("due to lock delay"):
                break
            else:
                # Somebody else was quicker.
                views = self.views(locks)
        self._tell(views)
        return views

    def _tell(self, views: Mapping[str, View]) -> None:
        for name, view in views.items():
            if not view.waiters:
                with self._lock:
                    self._busy.pop(name, None)
        # Only those who hold are looked for: many may wait here.
        holding = {member.record.key for view in views.values() for member in view.holders}
        with self._lock:
            found = [there[key] for there in self._waiting.values() for key in holding & there.keys()]
        for entry in found:
            if entry.locks.keys() <= views.keys():
                tokens = tokens_of(entry.request, views)
                if tokens is not None and min(tokens) > entry.since:
                    self.leave(entry)
                    entry.grant(tokens)

    # Waiting

    def join(self, entry: Entry) -> None:
        desk = _desk(entry)
        with self._lock:
            there = self._waiting.setdefault(desk, {})
            comes = entry.key not in there
            there[entry.key] = entry
            overtakes = comes and any(entry.request.priority > other.request.priority for other in there.values())
            for name in entry.locks:
                self._busy[name] = None
            while len(self._busy) > MOST_BUSY:
                self._busy.pop(next(iter(self._busy)))
        if overtakes or entry.key in self._seen.get(desk, ()):
            # It goes before others, or was seen before it was known to be one of ours: another is to be watched now.
            self._interrupt(desk)

    def leave(self, entry: Entry) -> None:
        desk = _desk(entry)
        with self._lock:
            there = self._waiting.get(desk, {})
            there.pop(entry.key, None)
            if not there:
                self._waiting.pop(desk, None)

    def end(self, entries: Iterable[Entry], reason: str) -> None:
        """The lease of these is over."""
        for entry in list(entries):
            self.leave(entry)
            entry.end(reason)
            self._interrupt(_desk(entry))

    def _interrupt(self, desk: Desk) -> None:
        watch = self._watches.get(desk)
        if watch is not None:
            watch.interrupt()

    def close(self) -> None:
        for watch in list(self._watches.values()):
            watch.interrupt()

    def wait(self, entry: Entry, timeout: float) -> Granted | Gone | None:
        """The outcome; None when the time is over, or the entry has lost its place."""
        desk = _desk(entry)
        try:
            return self._stand(desk, entry, self._now() + timeout)
        finally:
            # Nobody rings here any more for whoever is gone; and if somebody did, another is rung for. First of all it
            # gives up the role, without a call: a signal handler may raise at each, and nobody else would ever ask.
            entry.bell = None
            self._step_down(desk, entry)

    def _stand(self, desk: Desk, entry: Entry, until: float) -> Granted | Gone | None:
        bell = entry.bell = runtime.Event()
        while True:
            if entry.over is not None:
                return Gone(entry.over)
            if entry.tokens is not None:
                # Less than all of it is left where it was evicted, and a renewal heard of that before us.
                whole = len(entry.tokens) == len(entry.locks)
                return Granted(tuple(entry.tokens[ask.name] for ask in entry.request.asks)) if whole else None
            left = until - self._now()
            if left <= 0 or entry.lost:
                return None
            if self._take(desk, entry):
                self._ask(entry, until)
            else:
                bell.wait(min(left, LONGEST_NAP))
                bell.clear()

    def _is_vacant(self, desk: Desk, entry: Entry) -> bool:
        """Whether nobody else asks for all at the desk."""
        other = self._asking.get(desk)
        return other is None or other is entry or other.bell is None

    def _take(self, desk: Desk, entry: Entry) -> bool:
        """Whether it asks for all from now on, until it leaves."""
        with self._lock:
            vacant = self._is_vacant(desk, entry)
            if vacant:
                self._asking[desk] = entry
        return vacant

    def _step_down(self, desk: Desk, entry: Entry) -> None:
        with self._lock:
            vacant = self._is_vacant(desk, entry)
            if vacant:
                self._asking.pop(desk, None)
        if vacant:
            self._ring_next(desk, entry)

    def _ring_next(self, desk: Desk, entry: Entry) -> None:
        """Have one of the others ask for all."""
        for other in self._here(desk):
            if other is not entry and other.bell is not None:
                other.ring()
                return

    def _ask(self, entry: Entry, until: float) -> None:
        """See how things stand, and if it is not our turn, wait for news of whoever is in the way."""
        desk = _desk(entry)
        watch = self._watches[desk] = wire.Watch()
        try:
            views = self.settle(self.views(entry.locks))
            self._seen[desk] = {
                member.record.key for view in views.values() for member in (*view.holders, *view.waiters)
            }
            # Once more: whoever joins from here on finds that it was seen.
            self._tell(views)
            if entry.tokens is not None or entry.over is not None:
                return
            if not all(views[name].find(entry.key) for name in entry.locks):
                entry.lost = True
                return
            foremost, view = self._foremost(desk, entry, views)
            pair, below = watched(view, foremost.key)
            left = until - self._now()
            if pair is None or not pair.session:
                # Free, and not to be had yet.
                bell = entry.bell
                assert isinstance(bell, runtime.Event)
                bell.wait(max(0.0, min(left, random.uniform(*LOOK_AGAIN))))
            elif entry.over is None and entry.tokens is None:
                self._store.watch(pair, until, watch, left, among=view.pairs() if below else ())
        finally:
            self._watches.pop(desk, None)
            self._seen.pop(desk, None)

    def _foremost(self, desk: Desk, entry: Entry, views: Mapping[str, View]) -> tuple[Entry, View]:
        """Whose turn comes first of those who wait at this desk, and the name on which it waits for others."""
        if not isinstance(desk, str):
            blocked = [view for view in views.values() if view.name in entry.locks and _is_behind(view, entry)]
            return entry, (blocked or [views[name] for name in entry.locks])[0]
        view = views[desk]
        here = {each.key: each for each in self._here(desk)}
        for member in view.waiters:
            if member.record.key in here:
                return here[member.record.key], view
        return entry, view

    def _here(self, desk: Desk) -> list[Entry]:
        with self._lock:
            return list(self._waiting.get(desk, {}).values())


def _is_behind(view: View, entry: Entry) -> bool:
    """Whether anybody holds this name, or waits for it, before the entry does."""
    return bool(view.holders) or view.stranger or view.waiters[0].record.key != entry.key


def _desk(entry: Entry) -> Desk:
    """Requests for one name wait together; one for several has a desk of its own."""
    return next(iter(entry.locks)) if len(entry.locks) == 1 else entry.key
