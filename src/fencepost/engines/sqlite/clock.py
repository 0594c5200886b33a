"""The clock of the leases in the state file: the host's, also inside a time namespace, whose clock is another."""

import os
from collections.abc import Callable
from pathlib import Path

OFFSETS = Path("/proc/self/timens_offsets")


def host_clock(now: Callable[[], float]) -> Callable[[], float]:
    """`now` as those outside see it."""
    ahead = _ahead()
    return (lambda: now() - ahead) if ahead else now


def _ahead() -> float:
    """By how many seconds the clock that counts from boot is ahead in here."""
    try:
        if os.readlink("/proc/self/ns/time") != os.readlink("/proc/self/ns/time_for_children"):
            # What is told is about children then.
            return 0.0
        for line in OFFSETS.read_text().splitlines():
            clock, seconds, nanoseconds = line.split()
            if clock == "boottime":
                return int(seconds) + int(nanoseconds) / 1e9
    except (OSError, ValueError):
        # A kernel without such namespaces.
        pass
    return 0.0
