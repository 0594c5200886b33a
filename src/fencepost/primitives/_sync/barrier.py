# Generated from src/fencepost/primitives/_async/barrier.py by tools/unasync.py. Do not edit: run `make gen`.
"""A barrier: so many meet before any of them goes on."""

from fencepost._runtime import threads as runtime
from fencepost.core.barrier import arrived, expects, generation, is_barrier, passed
from fencepost.core.deadline import Deadline
from fencepost.core.duration import check_timeout
from fencepost.core.permit import check_count
from fencepost.core.roster import Member, left, members
from fencepost.errors import AcquireTimeout, Conflict, EngineError, FencepostError, Lost, Uncertain
from fencepost.primitives._sync.acquirable import give_up
from fencepost.primitives._sync.roster import Roster
from fencepost.session._sync.grant import Grant
from fencepost.session._sync.limit import Limit
from fencepost.session._sync.persistence import persistently
from fencepost.session._sync.presence import Presence
from fencepost.session._sync.record import Document, Seen


class Barrier:
    """It opens when `parties` wait at it, for exactly those, again and again. Who died or gave up does not count."""

    def __init__(self, presence: Presence, name: str, parties: int) -> None:
        self.name = name
        self._parties = check_count(parties, "number of parties")
        self._presence = presence
        self._roster = Roster(presence, "barrier", name, is_barrier, lasts=True)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} '{self.name}' of {self._parties}>"

    def wait(self, *, timeout: float | None = None) -> int:
        """Return when all are there: how often it has opened, this time included. `AcquireTimeout` if they are not."""
        clock, limits = self._presence.clock, self._presence.limits
        started_at = clock.now()
        deadline = Deadline.after(started_at, check_timeout(timeout))
        back_by = limits.back_by(started_at, timeout)
        taken: list[Grant] = []
        id = self._roster.new_id()
        try:
            with Limit(clock, back_by):
                self._roster.strike_off_the_dead()
                left = None if timeout is None else deadline.left(clock.now())
                if self._roster.appear(id, "", taken, left, back_by) is not None:
                    raise AcquireTimeout(f"barrier '{self.name}' not reached in time")
                before = self._arrive(id)
                seen = self._until_open(id, taken[0], before, deadline)
            document = seen.document
            if generation(document) == before:
                document = self._leave(id, seen, back_by)
            with Limit(clock, back_by):
                self._check_passed(document, id, before)
            runtime.shielded(give_up(self._presence, taken, None, back_by))
            return before + 1
        except BaseException as error:
            runtime.shielded(self._step_back(id, taken, error, back_by))
            raise

    def _arrive(self, id: str) -> int:
        """How often it had opened before."""
        before = 0
        member = Member(id, self._presence.label, "")

        def decide(document: Document) -> Document:
            nonlocal before
            if expects(document) not in (None, self._parties):
                raise Conflict(f"barrier '{self.name}' waits for {expects(document)}, not for {self._parties}")
            before = generation(document)
            return arrived(document, member, self._parties)

        self._roster.record.change(decide)
        return before

    def _until_open(self, id: str, grant: Grant, before: int, deadline: Deadline) -> Seen:
        """What the record says when it is open, or when the time is over."""
        now = self._presence.clock.now
        seen = self._roster.record.read()
        while generation(seen.document) == before:
            grant.check()
            if deadline.passed(now()):
                break
            version = seen.version
            seen = self._roster.record.follow(version, min(deadline.left(now()), self._roster.period))
            if seen.version == version:
                persistently(self._presence, lambda: self._roster.look_after_neighbour(id))
        return seen

    def _check_passed(self, document: Document, id: str, before: int) -> None:
        """Whoever lost its lock is struck off, and then the barrier opens for others, without it."""
        counted = passed(document, id, before)
        if counted is None:
            # Who has its lock was never struck off, and so was counted the first time.
            counted = self._roster.is_there(id)
        if not counted:
            raise Lost(f"barrier '{self.name}' opened for others: our place at it was lost")

    def _leave(self, id: str, seen: Seen, back_by: float) -> Document:
        """The time is over. Whoever came last may have counted us meanwhile: then we pass, as all others do."""
        before = generation(seen.document)

        def decide(document: Document) -> Document | None:
            return left(document, [id]) if generation(document) == before else None

        there = f"{len(members(seen.document))} of {self._parties} are there"
        try:
            with Limit(self._presence.clock, back_by):
                left_at = self._roster.record.change(decide, known=seen)
        except (EngineError, Uncertain) as error:
            raise Uncertain(
                f"barrier '{self.name}' not open in time ({there}), and the engine did not confirm that we left it: "
                f"others may have counted us and passed ({error})"
            ) from error
        if generation(left_at) == before:
            raise AcquireTimeout(f"barrier '{self.name}' not open in time: {there}")
        return left_at

    def _step_back(self, id: str, taken: list[Grant], error: BaseException, back_by: float) -> None:
        clock, limits = self._presence.clock, self._presence.limits
        if taken:
            patience = limits.answer if isinstance(error, Exception) else limits.farewell
            try:
                with Limit(clock, min(clock.now() + patience, back_by)):
                    self._roster.strike_off(id)
            except FencepostError:
                # Without its lock, which goes next, it is as good as dead: another strikes it off.
                pass
        give_up(self._presence, taken, error, back_by)
