# Generated from src/fencepost/primitives/_async/ownership.py by tools/unasync.py. Do not edit: run `make gen`.
"""The partitions that one worker owns, from one change of the group to the next."""

from collections.abc import Iterator
from contextlib import contextmanager

from fencepost._runtime import threads as runtime
from fencepost._runtime.state import StateLock
from fencepost.core.assignment import balanced, owned_by
from fencepost.core.claim import Ask
from fencepost.core.name import shortened
from fencepost.core.shown import shown
from fencepost.errors import FencepostError, NotHeld
from fencepost.primitives._sync.acquirable import give_back
from fencepost.primitives._sync.roster import Roster
from fencepost.session._sync.grant import Grant
from fencepost.session._sync.presence import Presence
from fencepost.session._sync.pursuit import obtain


class Ownership:
    """Being one of the workers. Each partition in `grants()` is ours alone, fenced by the token of its own grant."""

    def __init__(
        self, presence: Presence, roster: Roster, name: str, count: int, id: str, membership: Grant
    ) -> None:
        self.id = id
        self._presence = presence
        self._roster = roster
        self._name = name
        self._count = count
        self._membership = membership
        self._state = StateLock()
        self._mine: set[int] = set()
        self._grants: dict[int, Grant] = {}
        # Those that are not ours any more, and not given back yet.
        self._parting: dict[Grant, None] = {}
        self._in_use: dict[int, int] = {}
        self._changed = runtime.Event()
        self._over = runtime.Event()
        self._worker: runtime.Worker | None = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} '{self._name}': {sorted(self._grants)} of {self._count}>"

    def grants(self) -> dict[int, Grant]:
        """The partitions that are ours now, each with its grant."""
        return {number: grant for number, grant in sorted(self._grants.items()) if grant.held}

    def assigned(self) -> list[int]:
        """The partitions that are ours or about to be; one that is held and not among these is to be let go of."""
        return sorted(self._mine)

    @property
    def held(self) -> bool:
        """Whether we are provably one of the workers."""
        return self._membership.held

    @property
    def lost(self) -> runtime.Event:
        return self._membership.lost

    @property
    def released(self) -> bool:
        return self._membership.released

    @contextmanager
    def using(self, number: int) -> Iterator[Grant]:
        """Work on one partition: it is handed over to another worker only after the block."""
        if not isinstance(number, int) or isinstance(number, bool):
            raise TypeError(f"a partition is a whole number, not {shown(number)}")
        counted = False
        try:
            # Inside: a signal may be taken on the way out of the `with`, too.
            with self._state:
                grant = self._grants.get(number)
                if grant is None or not grant.held or number not in self._mine:
                    raise NotHeld(f"partition {shown(number)} of '{self._name}' is not ours, or not any more")
                self._in_use[number] = self._in_use.get(number, 0) + 1
                counted = True
            yield grant
        finally:
            if counted:
                with self._state:
                    self._in_use[number] -= 1
                    if not self._in_use[number]:
                        del self._in_use[number]
                if number not in self._mine:
                    runtime.shielded(self._let_go())

    def watch(self) -> Iterator[dict[int, Grant]]:
        """What is ours, now and after every change."""
        seen: dict[int, Grant] | None = None
        while self.held:
            self._changed.clear()
            grants = self.grants()
            if grants != seen:
                seen = grants
                yield grants
            else:
                self._presence.clock.wait(self._changed, self._presence.clock.now() + self._roster.period)

    def release(self) -> None:
        """Work no longer. Everything that is ours is free for the others at once."""
        self._over.set()
        if self._membership.held:
            # Also wakes our own worker, which watches the record: a thread can not be cancelled.
            self._roster.leave(self.id)
        if self._worker is not None:
            self._worker.cancel()
            self._worker.join(self._presence.limits.call)
        # A thread that is still at it takes nothing more: whatever it is granted from now on, it gives back.
        with self._state:
            self._mine = set()
            self._part_with(list(self._grants))
        self._give_back()
        self._changed.set()
        self._membership.release()

    def interrupt_on_loss(self, interrupt: runtime.Interrupt) -> None:
        self._membership.interrupt_on_loss(interrupt)

    def forget_interrupt(self, interrupt: runtime.Interrupt) -> None:
        self._membership.forget_interrupt(interrupt)

    def start(self) -> None:
        self._worker = runtime.spawn(self._follow, name=f"fencepost-partitions-{self._name}")

    def _follow(self) -> None:
        """Keep what is ours what the record says, as members come and go."""
        version = -1
        while not self._over.is_set() and self._membership.held:
            try:
                timeout = 0.0 if self._missing() else self._roster.period
                seen = self._roster.record.next(version, timeout)
                if seen.version == version and not self._missing():
                    self._roster.look_after_neighbour(self.id)
                version = seen.version
                document = self._roster.record.change(lambda document: balanced(document, self._count))
                with self._state:
                    self._mine = owned_by(document, self.id)
                self._let_go()
                self._take()
            except FencepostError:
                # The keeper tells of trouble with the engine; if it lasts, nothing is ours any more.
                self._presence.clock.wait(self._over, self._presence.clock.now() + self._roster.period)
        # Whoever was interrupted as it became a worker gave back no more than that.
        with self._state:
            self._mine = set()
        self._let_go()

    def _missing(self) -> list[int]:
        with self._state:
            return sorted(number for number in self._mine if not self._has(number))

    def _has(self, number: int) -> bool:
        grant = self._grants.get(number)
        return grant is not None and grant.held

    def _take(self) -> None:
        """What can be had at once; and wait a while for the first that its last owner has not let go of yet."""
        refused = [
            number for number in self._missing() if not self._over.is_set() and not self._acquire(number, 0.0)
        ]
        if refused and not self._over.is_set():
            # Not for long at a time: a thread that waits for it does not hear that we leave.
            self._acquire(refused[0], min(self._roster.period, self._presence.limits.call))

    def _acquire(self, number: int, timeout: float) -> bool:
        taken: list[Grant] = []
        try:
            denial = obtain(self._presence, (Ask(f"{shortened(self._name)}/partition {number}"),), timeout, taken)
            if denial is None:
                present = self._membership.held
                with self._state:
                    kept = present and not self._over.is_set()
                    if kept:
                        self._grants[number] = taken[0]
                self._changed.set()
                if not kept:
                    give_back(taken)
            return denial is None
        except BaseException:
            runtime.shielded(give_back(taken))
            raise

    def _let_go(self) -> None:
        """Of what is not ours any more, unless somebody still works on it."""
        with self._state:
            idle = [number for number in self._grants if number not in self._mine and number not in self._in_use]
            self._part_with(idle)
        if self._parting:
            self._changed.set()
            self._give_back()

    def _part_with(self, numbers: list[int]) -> None:
        for number in numbers:
            self._parting[self._grants[number]] = None
            del self._grants[number]

    def _give_back(self) -> None:
        """Each is known until it was given back, so that after an interruption the next one finds the rest."""
        for grant in list(self._parting):
            give_back([grant])
            self._parting.pop(grant, None)
