"""The controlling terminal, lent to the command while it runs."""

import os
import signal

ASKED_FOR_IT = (signal.SIGTTIN, signal.SIGTTOU)


class Terminal:
    """Without a controlling terminal everything here does nothing."""

    def __init__(self) -> None:
        try:
            self._fd = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
        except OSError:
            self._fd = -1

    def lend(self, group: int) -> bool:
        """Put `group` in the foreground, if we are."""
        if not self._is_foreground(os.getpgrp()):
            return False
        self._put(group)
        return True

    def lend_at_start(self, group: int) -> None:
        """In a pipeline others of our group may need the terminal: there, lend it only when asked."""
        if os.isatty(0) and os.isatty(1):
            self.lend(group)

    def take_back(self, group: int) -> None:
        """Unless a shell has taken it in the meantime."""
        if self._is_foreground(group):
            self._put(os.getpgrp())

    def stop_with(self, group: int, signum: int) -> bool:
        """The group was stopped by job control: stop as well, so that the shell sees it; whether it shall go on now.

        Nothing renews the lease meanwhile, and nothing needs to: who is stopped can do no harm. Ctrl-Z stops all of
        the group, also those who refuse it. Whoever calls looks at the lease before the group goes on.
        """
        if self._fd < 0 or signum == signal.SIGSTOP:
            return False
        if signum in ASKED_FOR_IT and self.lend(group):
            return True
        self.take_back(group)
        if signum not in ASKED_FOR_IT:
            _stop_surely(group)
        _stop_ourselves(signum)
        return self.lend(group) or signum not in ASKED_FOR_IT

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def _is_foreground(self, group: int) -> bool:
        try:
            return self._fd >= 0 and os.tcgetpgrp(self._fd) == group
        except OSError:
            return False

    def _put(self, group: int) -> None:
        # From the background this is answered by SIGTTOU, which would stop us.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
        try:
            os.tcsetpgrp(self._fd, group)
        except OSError:
            # The group has ended, or the terminal was hung up.
            pass
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _stop_surely(group: int) -> None:
    try:
        os.killpg(group, signal.SIGSTOP)
    except (ProcessLookupError, PermissionError):
        # Nobody is left, or nobody whom we may signal.
        pass


def _stop_ourselves(signum: int) -> None:
    """And the rest of our own group, as the terminal would have. Where no shell could wake us, nothing happens."""
    handler = signal.signal(signum, signal.SIG_DFL)
    try:
        os.killpg(os.getpgrp(), signum)
    finally:
        signal.signal(signum, handler)
