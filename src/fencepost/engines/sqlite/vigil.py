"""Whose turn is near stays awake for it.

Waking a sleeper takes about as long as all the rest of a hand-over. So where a lock changes hands quickly, whoever
passes it on also calls the one that comes after the next, which then has its eyes open when its letter comes. It is
only for a moment: one in each queue, no longer than `AWAKE`, not where it is in vain, and only on processors that
nobody else wants.
"""

import os

# How long to stay awake for a letter.
AWAKE = 0.0001
# How short a time somebody had a lock whose waiters are called.
QUICK = 0.0003
# How many claims there are from one look at what else wants to run to the next.
LOOKS = 32
LOAD = "/proc/loadavg"
# How many want to run, for each processor, on a host that is busy with something else.
BUSY = 4
# A useful vigil makes up for two in vain. With more of those than a few, the rest is doubled with each.
WORTH, FEW, MOST = 2, 8, 16


class Vigil:
    """Whether the waiters of one engine want to be called. Those of a loop are not `able` to stay awake."""

    def __init__(self, *, able: bool) -> None:
        # Alone on a processor, staying awake would keep it from whoever has the lock.
        self._able = able and _processors() > 1
        self._processors = os.cpu_count() or 1
        self._vain = 0
        # For how many claims to sleep, and how many until the next look.
        self._rest = 0
        self._look = 0

    def is_wanted(self) -> bool:
        """For one more claim."""
        if not self._able:
            return False
        if self._rest:
            self._rest -= 1
            return False
        if not self._look:
            self._look = LOOKS
            if runnable() > self._processors * BUSY:
                self._rest = LOOKS
                self._look = 0
                return False
        self._look -= 1
        return True

    def end(self, *, in_vain: bool) -> None:
        if not in_vain:
            self._vain = max(self._vain - WORTH, 0)
            return
        self._vain = min(self._vain + 1, MOST)
        if self._vain > FEW:
            self._rest = 1 << (self._vain - FEW)


def runnable() -> int:
    """How many threads on this host run or could run now; 0 if that is not told."""
    try:
        fd = os.open(LOAD, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return int(os.read(fd, 128).split()[3].partition(b"/")[0])
        finally:
            os.close(fd)
    except (OSError, ValueError, IndexError):
        return 0


def _processors() -> int:
    """How many this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
