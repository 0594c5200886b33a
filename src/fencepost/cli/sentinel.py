"""A second process that outlives ours by a moment: if we are killed, it kills the command.

Nothing we could do ourselves would help then, and an engine that sees our death frees the lock at once. The
kernel closes our end of the pipe before it tells anybody of our death.
"""

import os
import signal
from collections.abc import Collection

from fencepost.cli.inbox import FORWARDED

DONE = b"done"


class Sentinel:
    """Make it before any thread starts, because it is a fork; and before `group` does anything worth guarding."""

    def __init__(self, group: int, mask: Collection[int]) -> None:
        reading, self._fd = os.pipe()
        if os.fork() == 0:
            try:
                _stand(reading, group, mask)
            finally:
                os._exit(0)
        os.close(reading)

    def dismiss(self) -> None:
        """Whatever runs now may run on."""
        if self._fd >= 0:
            try:
                os.write(self._fd, DONE)
            except BrokenPipeError:
                # Somebody killed it: a safeguard was lost, not the lock.
                pass
            os.close(self._fd)
            self._fd = -1


def _stand(reading: int, group: int, mask: Collection[int]) -> None:
    for signum in FORWARDED:
        signal.signal(signum, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    os.setsid()
    os.closerange(reading + 1, os.sysconf("SC_OPEN_MAX"))
    os.closerange(0, reading)
    if os.read(reading, 64) != DONE:
        os.killpg(group, signal.SIGKILL)
