"""The clock that leases are counted on, put ahead by a test where a user would wait."""

from fencepost._runtime import threads
from fencepost._runtime.clock import boottime


class Clock(threads.BootClock):
    """Real time, and what was skipped. Whoever sleeps looks at the clock at least every second."""

    def __init__(self) -> None:
        self._skipped = 0.0

    def now(self) -> float:
        return boottime() + self._skipped

    def skip(self, seconds: float) -> None:
        """Leases of engines on this clock are that much older from now on, and so are those they see."""
        self._skipped += seconds
