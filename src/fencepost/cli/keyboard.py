"""A key that ends what is shown, where somebody sits at the terminal."""

import os
import sys
import time
from types import TracebackType
from typing import Any, Self

ENOUGH = (b"q", b"Q")


class Keyboard:
    """While entered, keys are read as they are typed, and not shown. Without a terminal it only waits."""

    def __init__(self) -> None:
        self._fd = -1
        # How the terminal was.
        self._before: list[Any] | None = None

    def __enter__(self) -> Self:
        try:
            import termios
            import tty
        except ImportError:
            return self
        try:
            self._fd = sys.stdin.fileno() if sys.stdin is not None else -1
            if self._is_ours():
                self._before = termios.tcgetattr(self._fd)
                tty.setcbreak(self._fd, termios.TCSANOW)
        except (OSError, ValueError, termios.error):
            # No standard input, or a terminal that was hung up.
            self._before = None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is not None:
            import termios

            try:
                if self._is_ours():
                    termios.tcsetattr(self._fd, termios.TCSANOW, self._before)
            except (OSError, termios.error):
                # The terminal was hung up.
                pass

    def says_enough(self, within: float) -> bool:
        """Wait for so long; whether somebody typed `q` meanwhile."""
        until = time.monotonic() + within
        while (left := until - time.monotonic()) > 0:
            if self._before is None or not self._is_ours():
                time.sleep(left)
            elif self._typed(left) in ENOUGH:
                return True
        return False

    def _is_ours(self) -> bool:
        """Whether we are in the foreground: whoever reads or changes a terminal from the background is stopped."""
        try:
            return os.isatty(self._fd) and os.tcgetpgrp(self._fd) == os.getpgrp()
        except OSError:
            return False

    def _typed(self, within: float) -> bytes:
        import select

        ready, _, _ = select.select([self._fd], [], [], within)
        key = b""
        if ready:
            try:
                key = os.read(self._fd, 1)
            except OSError:
                # It was hung up.
                key = b""
            if not key:
                self._before = None
        return key
