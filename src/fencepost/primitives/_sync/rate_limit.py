# Generated from src/fencepost/primitives/_async/rate_limit.py by tools/unasync.py. Do not edit: run `make gen`.
"""A rate limit that all processes share: one round trip, in the engine's own time."""

from typing import cast

from fencepost.contract._sync.cell import MeterEngine
from fencepost.core.deadline import Deadline
from fencepost.core.duration import check_timeout
from fencepost.core.permit import check_count
from fencepost.core.rate import Rate
from fencepost.errors import AcquireTimeout, Unsupported
from fencepost.session._sync.limit import Call
from fencepost.session._sync.persistence import sleep
from fencepost.session._sync.presence import Presence


class RateLimit:
    """So many in any stretch of time, counted over everybody who uses the name. After a pause, as many at once.

    It counts attempts that were allowed, not work that is going on: a semaphore limits that. Whoever does not hear
    the answer may have used up its share.
    """

    def __init__(self, presence: Presence, name: str, rate: Rate) -> None:
        if not presence.traits.meters:
            raise Unsupported("this engine has no clock for rate limits: see its trait 'meters'")
        self.name = name
        self._rate = rate
        self._presence = presence

    def __repr__(self) -> str:
        return f"<{type(self).__name__} '{self.name}'>"

    def try_acquire(self, *, weight: int = 1) -> float:
        """0.0 if it may go on, and then it was counted; else how many seconds to wait, and it was not."""
        presence = self._presence
        return self._try(weight, presence.limits.back_by(presence.clock.now(), 0.0))

    def acquire(self, *, weight: int = 1, timeout: float | None = None) -> None:
        """Wait until it may go on; `AcquireTimeout` at once if that can not be in time."""
        clock = self._presence.clock
        started_at = clock.now()
        deadline = Deadline.after(started_at, check_timeout(timeout))
        back_by = self._presence.limits.back_by(started_at, timeout)
        while wait := self._try(weight, back_by):
            if wait > deadline.left(clock.now()):
                raise AcquireTimeout(
                    f"rate limit '{self.name}' not passed in time: the next is allowed in {wait:.3f} s"
                )
            sleep(self._presence, clock.now() + wait)

    def _try(self, weight: int, back_by: float) -> float:
        if check_count(weight, "weight") > self._rate.burst:
            raise ValueError(f"a weight of {weight} is never allowed within a limit of {self._rate.burst}")
        self._presence.check_open()
        # Not kept: in the child of a fork the session has another engine.
        engine = cast(MeterEngine, self._presence.engine)
        with Call(self._presence.clock, back_by):
            return engine.meter(self.name, self._rate, weight)
