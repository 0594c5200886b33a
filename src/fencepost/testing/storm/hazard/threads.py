"""A handler of a signal that raises, as Ctrl-C does, and time-outs by SIGALRM. Signals reach the main thread alone."""

import random
import signal
import threading
from types import TracebackType

SIGNAL = signal.SIGUSR1


class Interruption(KeyboardInterrupt):
    """Raised by the handler, wherever the main thread is."""


class around:  # noqa: N801 - a function but for the moment at which it must not be interrupted
    """In this block, the signal raises if the main thread is in it. Elsewhere it does nothing."""

    armed = False

    def __init__(self, dice: random.Random, share: float, most: float) -> None:
        self._main = threading.current_thread() is threading.main_thread()

    def __enter__(self) -> None:
        if self._main:
            around.armed = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._main:
            around.armed = False


def _ring(*_: object) -> None:
    if around.armed:
        around.armed = False
        raise Interruption


def listen() -> None:
    """To be called by the main thread."""
    signal.signal(SIGNAL, _ring)
