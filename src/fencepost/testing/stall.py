"""How much of a delay is the machine's: a busy or paused processor keeps whatever is due from running.

Two things are measured: pauses of a whole processor, by threads that want to run all the time, and for how long the
threads of this process were ready to run and did not, as the kernel counts it.

A test whose point is a bound in real time adds what was measured here, so that it judges the code and not
the neighbours.
"""

import os
import threading
from types import TracebackType
from typing import NamedTuple, Self

from fencepost._runtime.clock import boottime

# Often enough to tell a pause of a few milliseconds from none, seldom enough to cost nothing.
PACE = 0.004


class Stall(NamedTuple):
    """Somebody was due at one instant and ran at another."""

    due_at: float
    ran_at: float

    def within(self, start_at: float, end_at: float) -> float:
        return max(0.0, min(self.ran_at, end_at) - max(self.due_at, start_at))


def kept_waiting(stalls: list[Stall], start_at: float, end_at: float) -> float:
    """For how long, between two instants, what was due did not run."""
    return sum(stall.within(start_at, end_at) for stall in stalls)


def queued() -> float:
    """For how many seconds the threads of this process have been ready to run and did not, all together."""
    total = 0
    for thread in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{thread}/schedstat") as file:
                total += int(file.read().split()[1])
        except (FileNotFoundError, ProcessLookupError):
            # It ended meanwhile, or the kernel does not count.
            continue
    return total / 1e9


class StallMeter:
    """A context. One thread on each processor wants to run all the time, and notes when it could not."""

    def __init__(self, pace: float = PACE) -> None:
        self._pace = pace
        self._over = threading.Event()
        self._stalls: list[list[Stall]] = []
        self._threads: list[threading.Thread] = []
        self._queued = 0.0

    def between(self, start_at: float, end_at: float) -> float:
        """The time lost on the worst of the processors, since what is measured may have been due on any; and the time
        that our own threads stood in line for one since the meter was started."""
        return max(kept_waiting(stalls, start_at, end_at) for stalls in self._stalls) + queued() - self._queued

    def longest(self, start_at: float, end_at: float) -> float:
        """The longest that one processor was away at a time."""
        return max((stall.within(start_at, end_at) for stalls in self._stalls for stall in stalls), default=0.0)

    def __enter__(self) -> Self:
        self._queued = queued()
        for cpu in os.sched_getaffinity(0):
            stalls: list[Stall] = []
            self._stalls.append(stalls)
            self._threads.append(
                threading.Thread(target=self._watch, args=(cpu, stalls), name="stall-meter", daemon=True)
            )
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _watch(self, cpu: int, stalls: list[Stall]) -> None:
        os.sched_setaffinity(threading.get_native_id(), {cpu})
        due_at = boottime() + self._pace
        while not self._over.wait(self._pace):
            ran_at = boottime()
            if ran_at > due_at:
                stalls.append(Stall(due_at, ran_at))
            due_at = ran_at + self._pace
