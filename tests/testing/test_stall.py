"""The machine's share of a delay is measured, and nothing else is."""

import ctypes
import os
import subprocess
import sys
import time

import pytest

from fencepost._runtime.clock import boottime
from fencepost.testing.stall import Stall, StallMeter, kept_waiting, queued

pytestmark = pytest.mark.calm

BUSY = "import os, sys; os.sched_setaffinity(0, {int(sys.argv[1])})\nwhile True: pass"


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


def test_standing_in_line_for_a_processor_is_seen() -> None:
    before, began_at = queued(), time.monotonic()
    mine = os.sched_getaffinity(0)
    rivals = [subprocess.Popen([sys.executable, "-c", BUSY, str(min(mine))]) for _ in range(2)]
    try:
        os.sched_setaffinity(0, {min(mine)})
        while time.monotonic() < began_at + 1.0:
            pass
        # Of three that want the processor, each stands in line for most of the time.
        assert queued() - before > 0.2
    finally:
        os.sched_setaffinity(0, mine)
        for rival in rivals:
            rival.kill()
            rival.wait()


def test_waiting_for_something_that_does_not_come_is_no_stall() -> None:
    with StallMeter() as meter:
        start_at = boottime()
        time.sleep(0.5)
        lasted = boottime() - start_at
        # The meter's own threads are the only ones that want to run.
        assert meter.between(start_at, start_at + lasted) < lasted
