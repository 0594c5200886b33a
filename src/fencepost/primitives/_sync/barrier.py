# Generated from src/fencepost/primitives/_async/barrier.py by tools/unasync.py. Do not edit: run `make gen`.
"""A barrier: so many meet before any of them goes on."""

from fencepost._runtime import threads as runtime
from fencepost.core.barrier import arrived, expects, generation
from fencepost.core.deadline import Deadline
from fencepost.core.duration import check_timeout
from fencepost.core.permit import check_count
from fencepost.core.roster import Member, left, members
from fencepost.errors import AcquireTimeout, Conflict, FencepostError
from fencepost.primitives._sync.acquirable import give_back
from fencepost.primitives._sync.roster import Roster
from fencepost.session._sync.grant import Grant
from fencepost.session._sync.limit import Limit
from fencepost.session._sync.presence import Presence
from fencepost.session._sync.record import Document


class Barrier:
    """It opens when `parties` wait at it, for exactly those, again and again. Who died or gave up does not count."""

    def __init__(self, presence: Presence, name: str, parties: int) -> None:
        self.name = name
        self._parties = check_count(parties, "number of parties")
        self._presence = presence
        self._roster = Roster(presence, "barrier", name)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} '{self.name}' of {self._parties}>"

    def wait(self, *, timeout: float | None = None) -> int:
        """Return when all are there: how often it has opened, this time included. `AcquireTimeout` if they are not."""
        deadline = Deadline.after(self._presence.clock.now(), check_timeout(timeout))
        taken: list[Grant] = []
        ids: list[str] = []
        try:
            with Limit(self._presence.clock, deadline.at + self._presence.limits.answer):
                self._roster.strike_off_the_dead()
                ids.append(self._roster.appear("", taken))
                before = self._arrive(ids[0])
                return self._until_open(ids[0], taken[0], before, deadline)
        except BaseException:
            runtime.shielded(self._step_back(ids))
            raise
        finally:
            runtime.shielded(give_back(taken))

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

    def _until_open(self, id: str, grant: Grant, before: int, deadline: Deadline) -> int:
        now = self._presence.clock.now
        seen = self._roster.record.read()
        while generation(seen.document) == before:
            grant.check()
            if deadline.passed(now()):
                there = len(members(seen.document))
                # Whoever came last may have counted us meanwhile: then we pass, as all others do.
                left_at = self._roster.record.change(lambda document: self._left(document, id, before))
                if generation(left_at) != before:
                    break
                raise AcquireTimeout(f"barrier '{self.name}' not open in time: {there} of {self._parties} are there")
            version = seen.version
            seen = self._roster.record.next(version, min(deadline.left(now()), self._roster.period))
            if seen.version == version:
                self._roster.look_after_neighbour(id)
        return before + 1

    def _left(self, document: Document, id: str, before: int) -> Document | None:
        return left(document, [id]) if generation(document) == before else None

    def _step_back(self, ids: list[str]) -> None:
        clock, limits = self._presence.clock, self._presence.limits
        if ids:
            try:
                with Limit(clock, clock.now() + limits.answer):
                    self._roster.strike_off(*ids)
            except FencepostError:
                # Without its lock, which goes next, it is as good as dead: another strikes it off.
                pass
