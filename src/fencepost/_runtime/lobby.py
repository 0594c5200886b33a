"""Many wait on one event loop for what one connection brings."""

from collections.abc import Callable
from typing import Any, Protocol

from fencepost._runtime import aio as runtime
from fencepost._runtime.clock import LONGEST_NAP, boottime


class Sleeper(Protocol):
    bell: Any

    @property
    def stirred(self) -> bool: ...
    def ring(self) -> None: ...


class Lobby:
    """Who is told is stirred by whoever reads from the connection; all are rung for when it ends."""

    __slots__ = ("_present",)

    def __init__(self) -> None:
        self._present: list[Sleeper] = []

    async def wait(self, sleeper: Sleeper, until: float, check: Callable[[], None]) -> None:
        """Return when the sleeper is stirred, or at `until`. Before each sleep `check` raises if all is in vain."""
        self._present.append(sleeper)
        bell = sleeper.bell = runtime.Event()
        try:
            while not sleeper.stirred and (left := until - boottime()) > 0:
                check()
                await bell.wait(min(left, LONGEST_NAP))
                bell.clear()
        finally:
            self._present.remove(sleeper)

    def ring_all(self) -> None:
        for sleeper in list(self._present):
            sleeper.ring()
