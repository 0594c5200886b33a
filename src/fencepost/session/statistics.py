"""What a session has done so far, in numbers."""

from dataclasses import dataclass

from fencepost._runtime.state import StateLock


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """A snapshot. `waited` is in seconds and counts asks that were granted; the rest are counts.

    `denied` are asks that were not granted in time, or not at once where they did not wait.
    """

    held: int
    waiting: int
    granted: int
    denied: int
    contended: int
    waited: float
    renewals: int
    failed_renewals: int
    lost: int

    @property
    def contention(self) -> float:
        """The share of grants that had to wait."""
        return self.contended / self.granted if self.granted else 0.0


class Tally:
    """The running numbers, exact under threads."""

    __slots__ = ("_lock", "contended", "denied", "failed_renewals", "granted", "lost", "renewals", "waited", "waiting")

    def __init__(self) -> None:
        self._lock = StateLock()
        self.granted = 0
        self.denied = 0
        self.contended = 0
        self.waited = 0.0
        # One for each who waits, whichever: to put one in and to take one out is atomic without the lock.
        self.waiting: list[object] = []
        self.renewals = 0
        self.failed_renewals = 0
        self.lost = 0

    def grant(self, waited: float | None) -> None:
        """A grant, after so many seconds in the queue; None if it had not to wait."""
        with self._lock:
            self.granted += 1
            if waited is not None:
                self.contended += 1
                self.waited += waited

    def denial(self) -> None:
        with self._lock:
            self.denied += 1

    def renewal(self, *, failed: bool) -> None:
        with self._lock:
            self.renewals += 1
            self.failed_renewals += failed

    def loss(self) -> None:
        with self._lock:
            self.lost += 1

    def statistics(self, held: int) -> Statistics:
        with self._lock:
            return Statistics(
                held=held,
                waiting=len(self.waiting),
                granted=self.granted,
                denied=self.denied,
                contended=self.contended,
                waited=self.waited,
                renewals=self.renewals,
                failed_renewals=self.failed_renewals,
                lost=self.lost,
            )
