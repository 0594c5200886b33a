"""A point in time not to be passed, or none."""

import math
from typing import NamedTuple


class Deadline(NamedTuple):
    at: float

    @classmethod
    def after(cls, now: float, seconds: float | None) -> "Deadline":
        return cls(math.inf if seconds is None else now + seconds)

    def left(self, now: float) -> float:
        """Seconds left, not below 0; infinite where there is no deadline."""
        return max(0.0, self.at - now)

    def passed(self, now: float) -> bool:
        return now >= self.at
