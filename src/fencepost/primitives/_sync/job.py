# Generated from src/fencepost/primitives/_async/job.py by tools/unasync.py. Do not edit: run `make gen`.
"""A job that one node runs for all: each tick once, and how it ended is kept."""

import time
from collections.abc import Iterator
from types import TracebackType
from typing import Self

from fencepost._runtime import threads as runtime
from fencepost.core.claim import Ask
from fencepost.core.duration import check_seconds, check_timeout
from fencepost.core.job import Outcome, Tick, begun, check_tick, ended, is_job, last
from fencepost.core.schedule import Schedule
from fencepost.core.shown import described, shown
from fencepost.errors import FencepostError, Lost, Unavailable, Uncertain
from fencepost.primitives._sync.acquirable import Block, give_back, give_up
from fencepost.session._sync.grant import Grant
from fencepost.session._sync.limit import Limit
from fencepost.session._sync.persistence import LONGEST_SLEEP, sleep
from fencepost.session._sync.presence import Presence
from fencepost.session._sync.pursuit import obtain
from fencepost.session._sync.record import Record

# Of an error, in characters.
MOST_TOLD = 1000


class Run:
    """One tick, ours to run: a block, whose end is recorded as done, or as failed if it raises."""

    def __init__(
        self,
        presence: Presence,
        record: Record,
        tick: Tick,
        grant: Grant,
        at_least: float,
        at_most: float | None,
    ) -> None:
        self.tick = tick
        self.grant = grant
        self._presence = presence
        self._record = record
        self._at_least = at_least
        self._at_most = at_most
        self._began_at = presence.clock.now()
        self._block = Block(grant)
        self._alarm: runtime.Alarm | None = None
        self._entered = False

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.tick!r} of '{self.grant.name}' token {self.grant.token}>"

    def __enter__(self) -> Self:
        self._entered = True
        try:
            self._block.arm()
            if self._at_most is not None:
                reason = f"it took longer than {self._at_most:g} s"
                at = self._began_at + self._at_most
                self._alarm = self._presence.clock.alarm(at, lambda: self.grant.forfeit(reason))
            return self
        except BaseException:
            runtime.shielded(give_back([self.grant]))
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        try:
            if self.grant.held:
                try:
                    self.end(error="" if error is None else described(error))
                except FencepostError:
                    # What the body raised says more.
                    if error is None:
                        raise
                if error is None:
                    self._stay()
        finally:
            try:
                self._block.end(error)
            except BaseException:
                runtime.shielded(give_back([self.grant]))
                raise

    def _check_over(self) -> None:
        """Raise if it is not over when the next one is to come: nobody else could begin a tick, and nobody would know.

        Whose block was never entered is given back, as failed.
        """
        if self.grant.held:
            error = RuntimeError(f"{self!r} is a block, and was not left: for run in job: with run: …")
            if not self._entered:
                with self:
                    raise error
            raise error

    def _stay(self) -> None:
        """Keep the name for as long as others may still think that this tick is due."""
        clock, until = self._presence.clock, self._began_at + self._at_least
        # A session that is closed gives it back, and then it is not lost.
        while self.grant.held and (now := clock.now()) < until:
            clock.wait(self.grant.lost, min(until, now + LONGEST_SLEEP))

    def end(self, *, error: str = "") -> None:
        """Record how it ended: done, or failed with that error. `Lost` if somebody else runs it by now."""
        if not isinstance(error, str):
            raise TypeError(f"the error that a run ended with is text, not {type(error).__name__}")
        took = round(self._presence.clock.now() - self._began_at, 3)
        state = "failed" if error else "done"
        told = error[:MOST_TOLD].encode(errors="backslashreplace").decode()
        outcome = Outcome(self.tick, self.grant.token, self._presence.label, state, told, took)
        document = self._record.change(lambda document: ended(document, outcome))
        if document.get("last") != list(outcome):
            raise Lost(f"job '{self.grant.name}' (token {self.grant.token}) lost: somebody else has begun it since")


class Job:
    """Each tick is run by one node, whatever their clocks say and however short it is: ticks, not clocks, are compared.

    `at_least` keeps the name that long also after a shorter run; a run that takes longer than `at_most` is lost.
    A tick that nobody was there for is not made up for later. One whose node died is not run again, unless it was
    begun with `again=True`, as a migration should be.
    """

    def __init__(
        self,
        presence: Presence,
        name: str,
        schedule: Schedule | None,
        *,
        at_least: float = 0.0,
        at_most: float | None = None,
    ) -> None:
        self.name = name
        self._presence = presence
        self._schedule = schedule
        self._at_least = check_seconds(at_least, "at_least")
        self._at_most = None if at_most is None else check_seconds(at_most, "at_most")
        if self._at_most is not None and self._at_most < self._at_least:
            raise ValueError(f"at_most ({at_most:g} s) must not be less than at_least ({at_least:g} s)")
        self._record = Record(presence, f"job/{name}", is_job)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} '{self.name}'>"

    def last(self, tick: Tick | None = None) -> Outcome | None:
        """The last run and how it ended, or that it is going on. With a tick, the last run of that tick: the last one
        of all, or one of the latest 1,000 things that were done once.
        """
        if tick is not None:
            check_tick(tick)
        return last((self._record.read()).document, tick)

    def begin(self, tick: Tick, *, timeout: float | None = 0.0, again: bool = False) -> Run | None:
        """Run that tick here; None if it was run already, or is being run by somebody else.

        `timeout` is how long to wait for whoever runs it now: 0 not at all, None until it has ended. So "once across
        all nodes, and nobody goes on before it is done" is `begin("migration 7", timeout=None, again=True)`.
        """
        check_tick(tick)
        presence, limits = self._presence, self._presence.limits
        back_by = limits.back_by(presence.clock.now(), check_timeout(timeout))
        taken: list[Grant] = []
        try:
            if obtain(presence, (Ask(self.name),), timeout, taken, back_by=back_by) is not None:
                return None
            grant, label = taken[0], presence.label
            # The other half is for giving it back.
            with Limit(presence.clock, back_by - limits.farewell / 2):
                document = self._record.change(
                    lambda document: begun(document, tick, grant.token, label, again=again, now=time.time())
                )
            outcome = last(document)
            if outcome is None or outcome.token != grant.token:
                runtime.shielded(give_up(presence, taken, None, back_by))
                return None
            return Run(presence, self._record, tick, grant, self._at_least, self._at_most)
        except BaseException as error:
            runtime.shielded(give_up(presence, taken, error, back_by))
            raise

    def __iter__(self) -> Iterator[Run]:
        """Every tick that is ours to run, when it is due: `for run in job: with run: …`.

        `RuntimeError` if a run is still held when the next one is asked for.

        A tick at which the engine does not answer is left out.
        """
        if self._schedule is None:
            raise ValueError(f"job {shown(self.name)} has no schedule: give `every` or `cron`")
        clock = self._presence.clock
        tick = self._schedule.after(time.time())
        while True:
            self._presence.check_open()
            while (left := tick - time.time()) > 0:
                # A wall clock may be set: look again now and then.
                sleep(self._presence, clock.now() + min(left, 1.0))
            try:
                run = self.begin(tick)
            except (Unavailable, Uncertain):
                # The keeper tells of trouble with the engine. Nobody ran this tick here; the next one is tried again.
                run = None
            if run is not None:
                yield run
                run._check_over()
            tick = self._schedule.after(max(time.time(), tick))
