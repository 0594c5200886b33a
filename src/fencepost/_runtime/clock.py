"""The clock that leases are counted on: it neither jumps with the date nor stops while the host sleeps."""

import time
from collections.abc import Callable
from functools import partial

# On macOS CLOCK_MONOTONIC goes on while the host sleeps. Windows has `time.monotonic` alone, which does so, too.
boottime: Callable[[], float] = (
    partial(time.clock_gettime, getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
    if hasattr(time, "clock_gettime")
    else time.monotonic
)

# Timers of the operating system stop while the host sleeps, and this clock does not: no timer runs
# longer than this, so that a deadline passed in the host's sleep is noticed soon after.
LONGEST_NAP = 1.0
