"""`run --every` and `run --cron`: wait for each tick, and run the command if nobody else does."""

import signal
import subprocess
import sys
import time
from types import FrameType
from typing import TYPE_CHECKING

from fencepost.cli import exit, say
from fencepost.cli.table import moment

if TYPE_CHECKING:
    from fencepost.core.schedule import Schedule

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# A wall clock may be set: look again now and then.
NAP = 1.0


class Stopped(Exception):
    """A signal to end came while nothing ran."""

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.signum = signum


class Repetition:
    """Each tick in a process of its own, so that a command that dies badly takes nothing with it."""

    def __init__(self, schedule: "Schedule", arguments: list[str]) -> None:
        self._schedule = schedule
        self._arguments = arguments
        self._running: subprocess.Popen[bytes] | None = None
        self._waits = False
        self._stopped_by = 0

    def run(self) -> int:
        """Until a signal ends it; the exit code."""
        for signum in STOPPING:
            signal.signal(signum, self._stop)
        try:
            tick = self._schedule.after(time.time())
            while True:
                self._wait_until(tick)
                code = exit.OK if self._stopped_by else self._run_once(tick)
                if self._stopped_by:
                    return 128 + self._stopped_by
                if code == exit.USAGE:
                    return code
                if code:
                    say.note(f"the run of {moment(tick)} ended with exit code {code}; the next one is due as ever")
                tick = self._schedule.after(max(time.time(), tick))
        except Stopped as error:
            return 128 + error.signum

    def _wait_until(self, tick: int) -> None:
        self._waits = True
        while not self._stopped_by and (left := tick - time.time()) > 0:
            time.sleep(min(left, NAP))
        self._waits = False

    def _run_once(self, tick: int) -> int:
        argv = [sys.executable, "-m", "fencepost", "run", "--tick", str(tick), *self._arguments]
        self._running = subprocess.Popen(argv)
        if self._stopped_by:
            # It was being started when the signal came.
            self._running.send_signal(self._stopped_by)
        try:
            return self._running.wait()
        finally:
            self._running = None

    def _stop(self, signum: int, frame: FrameType | None) -> None:
        if self._waits:
            raise Stopped(signum)
        self._stopped_by = signum
        if self._running is not None:
            self._running.send_signal(signum)
