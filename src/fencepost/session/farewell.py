"""Whoever ends without closing its session leaves what it holds locked: that is said at the end of the process."""

import atexit
import warnings
from typing import Protocol
from weakref import WeakSet


class Closable(Protocol):
    def _leftover(self) -> str | None:
        """What is held still, in words; None if nothing is."""


_sessions: "WeakSet[Closable]" = WeakSet()


def expect_close(session: Closable) -> None:
    _sessions.add(session)


def _tell() -> None:
    for session in list(_sessions):
        left = session._leftover()
        if left is not None:
            warnings.warn(left, ResourceWarning, stacklevel=1)


atexit.register(_tell)
