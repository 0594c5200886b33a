"""Signals and news from other threads, as one thing the main thread waits for."""

import os
import select
import signal
from collections import deque
from types import FrameType, TracebackType
from typing import Self

from fencepost.cli.interrupted import Interrupted

FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
JOB_CONTROL = (signal.SIGTSTP, signal.SIGCONT)


class Inbox:
    """While entered, it collects signals, except that before `collect` is called the first one raises `Interrupted`.

    Signals that were ignored when we were started (by nohup, say) stay so, here and in the child.
    """

    def __init__(self) -> None:
        self._signals: deque[int] = deque()
        self._raising = True
        self._before: dict[int, object] = {}

    def __enter__(self) -> Self:
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)
        os.set_blocking(self._write, False)
        self._poll = select.poll()
        self._poll.register(self._read, select.POLLIN)
        self._wakeup_before = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        for signum in FORWARDED:
            self._catch(signum)
        # Always: a child whose death is ignored can not be waited for.
        self._before[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, _only_wake)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for signum, handler in self._before.items():
            signal.signal(signum, handler)  # type: ignore[arg-type]
        signal.set_wakeup_fd(self._wakeup_before)
        os.close(self._read)
        os.close(self._write)

    def collect(self) -> None:
        """From now on signals wait to be taken, also those of job control: no command runs while we are stopped."""
        self._raising = False
        for signum in JOB_CONTROL:
            self._catch(signum)

    def take(self) -> list[int]:
        """The signals that came, in order."""
        taken = []
        while self._signals:
            taken.append(self._signals.popleft())
        return taken

    def ring(self, *_: object) -> None:
        """Wake the main thread. Safe from any thread."""
        try:
            os.write(self._write, b"\0")
        except OSError:
            # Full: it will wake. Closed: nobody waits any more.
            pass

    def wait(self, timeout: float) -> None:
        """Return when something may have happened, or after `timeout` seconds."""
        if self._poll.poll(max(0.0, timeout) * 1000):
            try:
                while os.read(self._read, 4096):
                    pass
            except BlockingIOError:
                pass

    def _catch(self, signum: int) -> None:
        if signum not in self._before and signal.getsignal(signum) is not signal.SIG_IGN:
            self._before[signum] = signal.signal(signum, self._arrived)

    def _arrived(self, signum: int, frame: FrameType | None) -> None:
        if not self._raising:
            self._signals.append(signum)
            return
        self._raising = False
        # While we clean up, a second signal ends us on the spot.
        for each in self._before.keys() - {signal.SIGCHLD}:
            signal.signal(each, signal.SIG_DFL)
        raise Interrupted(signum)


def _only_wake(signum: int, frame: FrameType | None) -> None:
    """The wake-up descriptor has been written to by now."""
