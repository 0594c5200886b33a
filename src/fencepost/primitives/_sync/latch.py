# Generated from src/fencepost/primitives/_async/latch.py by tools/unasync.py. Do not edit: run `make gen`.
"""A latch: everybody waits until it has counted down to nothing."""

from fencepost.core.deadline import Deadline
from fencepost.core.duration import check_timeout
from fencepost.core.latch import counted_down, counts_from, is_latch, remaining
from fencepost.core.permit import check_count
from fencepost.errors import AcquireTimeout, Conflict
from fencepost.session._sync.limit import Limit
from fencepost.session._sync.presence import Presence
from fencepost.session._sync.record import Record, Document


class Latch:
    """It opens once, when `count` steps have been counted down by whomever, and stays open, also when all have left."""

    def __init__(self, presence: Presence, name: str, count: int) -> None:
        self.name = name
        self._count = check_count(count, "count of a latch")
        self._presence = presence
        self._record = Record(presence, f"latch/{name}", is_latch)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} '{self.name}' of {self._count}>"

    def count_down(self, steps: int = 1) -> int:
        """How many steps are left after these."""
        check_count(steps, "number of steps")

        def decide(document: Document) -> Document | None:
            self._check(document)
            return counted_down(document, self._count, steps)

        return remaining(self._record.change(decide), self._count)

    def remaining(self) -> int:
        """How many steps are left."""
        document = (self._record.read()).document
        self._check(document)
        return remaining(document, self._count)

    def wait(self, *, timeout: float | None = None) -> None:
        """Return as soon as it is open; `AcquireTimeout` if it is not in time."""
        now = self._presence.clock.now
        started_at = now()
        deadline = Deadline.after(started_at, check_timeout(timeout))
        with Limit(self._presence.clock, self._presence.limits.back_by(started_at, timeout)):
            seen = self._record.read()
            while True:
                self._check(seen.document)
                left = remaining(seen.document, self._count)
                if left == 0:
                    return
                if deadline.passed(now()):
                    raise AcquireTimeout(
                        f"latch '{self.name}' not open in time: {left} of {self._count} steps are left"
                    )
                seen = self._record.follow(seen.version, min(deadline.left(now()), self._presence.terms.span))

    def _check(self, document: Document) -> None:
        other = counts_from(document)
        if other not in (None, self._count):
            raise Conflict(f"latch '{self.name}' counts from {other}, not from {self._count}: use another name")
