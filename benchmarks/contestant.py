"""What every contestant can do: take one lock, give it back, and both again and again with a clock running."""

from collections.abc import Callable
from time import monotonic_ns, perf_counter_ns
from typing import Any, ClassVar


class Contestant:
    """One lock in one place: a folder, or a server. `tokens` says whether every grant comes with a fencing token."""

    name: ClassVar[str]
    tokens: ClassVar[bool] = False
    across_processes: ClassVar[bool] = True

    def __init__(self, place: Any) -> None:
        raise NotImplementedError

    def acquire(self) -> None:
        raise NotImplementedError

    def release(self) -> None:
        raise NotImplementedError

    def close(self) -> None:
        """Let go of files and threads."""

    def cycles(self, count: int) -> list[int]:
        """How long each of `count` acquire and release pairs took, in ns."""
        acquire, release, clock = self.acquire, self.release, perf_counter_ns
        taken = []
        for _ in range(count):
            before = clock()
            acquire()
            release()
            taken.append(clock() - before)
        return taken

    def contend(self, start_ns: int, until_ns: int) -> int:
        """Lock all the time; how many pairs ended while the monotonic clock showed `start_ns` to `until_ns`."""
        acquire, release, clock = self.acquire, self.release, monotonic_ns
        count = 0
        while True:
            acquire()
            release()
            now = clock()
            if now >= until_ns:
                return count
            count += now >= start_ns

    def wake(self, ready: Callable[[], None]) -> int:
        """Say ready, wait for the lock, and return when it was had on the monotonic clock, in ns."""
        ready()
        self.acquire()
        at = monotonic_ns()
        self.release()
        return at
