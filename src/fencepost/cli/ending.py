"""Signals that end what is shown, once the terminal is as it was."""

import signal
from types import FrameType, TracebackType
from typing import Self

from fencepost.cli.interrupted import Interrupted

# Ctrl-C is an exception of Python's own. Not every platform can hang up.
ENDING = (signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else []))


class Ending:
    """While entered, a signal ends the block, as if it had come to its end: `signum` says which, 0 if none did.

    Those that were ignored when we were started stay so. A second one ends us on the spot.
    """

    def __init__(self) -> None:
        self.signum = 0

    def __enter__(self) -> Self:
        self._ours = [each for each in ENDING if signal.getsignal(each) is signal.SIG_DFL]
        for each in self._ours:
            signal.signal(each, self._end)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self._let_go()
        # A terminal that was hung up can not be written to any more.
        return self.signum != 0 and isinstance(error, Interrupted | OSError)

    def _end(self, signum: int, frame: FrameType | None) -> None:
        self.signum = signum
        self._let_go()
        raise Interrupted(signum)

    def _let_go(self) -> None:
        for each in self._ours:
            signal.signal(each, signal.SIG_DFL)
