"""The machine's share of a delay is measured, and nothing else is."""

import ctypes
import time

from fencepost._runtime.clock import boottime
from fencepost.testing.stall import Stall, StallMeter, kept_waiting


def test_only_the_part_of_a_stall_inside_the_window_counts() -> None:
    stalls = [Stall(1.0, 2.0), Stall(3.0, 3.5)]
    assert kept_waiting(stalls, 0.0, 9.0) == 1.5
    assert kept_waiting(stalls, 1.75, 3.25) == 0.5
    assert kept_waiting(stalls, 2.0, 3.0) == 0.0


def test_a_pause_of_everything_is_seen() -> None:
    with StallMeter() as meter:
        time.sleep(0.05)
        start_at = boottime()
        # Holds the interpreter's lock: nothing in this process runs meanwhile.
        ctypes.PyDLL(None).usleep(200_000)
        time.sleep(0.02)
        assert meter.between(start_at, boottime()) > 0.15


def test_waiting_for_something_that_does_not_come_is_no_stall() -> None:
    with StallMeter() as meter:
        start_at = boottime()
        time.sleep(0.5)
        lasted = boottime() - start_at
        assert meter.between(start_at, start_at + lasted) < lasted / 2
