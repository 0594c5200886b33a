"""Rate limits by key. Callers hold the book's lock."""

from fencepost.core.rate import Rate, taken

# Forgetting those that are idle takes a look at all: seldom enough to cost little, often enough to keep them few.
SWEEP_AT = 1024


class Meters:
    def __init__(self) -> None:
        self._busy_until: dict[str, float] = {}
        self._sweep_at = SWEEP_AT

    def take(self, key: str, rate: Rate, weight: int, now: float) -> float:
        if len(self._busy_until) >= self._sweep_at:
            self._busy_until = {key: until for key, until in self._busy_until.items() if until > now}
            self._sweep_at = max(SWEEP_AT, 2 * len(self._busy_until))
        self._busy_until[key], wait = taken(self._busy_until.get(key, 0.0), now, rate, weight)
        return wait
