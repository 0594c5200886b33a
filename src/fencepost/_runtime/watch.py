"""Many wait, and one of them reads for all: whoever comes first. No thread or task of our own is needed.

Right in both flavours: nothing here waits, and the role is handed on by what is atomic under threads.
"""

from typing import Protocol

from fencepost._runtime.state import StateLock


class Sleeper(Protocol):
    def ring(self) -> None: ...


class Watch:
    """Whoever is present and takes the role reads; when it leaves, for whatever reason, the next is rung for.

    A signal handler may raise at any call, also on the way into or out of one. So nobody is present by a call: whoever
    waits puts itself among those `present` right before its `try`, and takes itself out as the first thing that its
    `finally` does. With it goes the role, if it had that.
    """

    __slots__ = ("_lock", "_reader", "present")

    def __init__(self) -> None:
        # In the order in which they came.
        self.present: dict[Sleeper, None] = {}
        self._reader: Sleeper | None = None
        self._lock = StateLock()

    @property
    def is_vacant(self) -> bool:
        reader = self._reader
        return reader is None or reader not in self.present

    def take(self, sleeper: Sleeper) -> bool:
        """Whether the role is the sleeper's from now on, until it hands it back or leaves."""
        if not self.is_vacant:
            return False
        with self._lock:
            vacant = self.is_vacant
            if vacant:
                self._reader = sleeper
        return vacant

    def hand_back(self) -> None:
        self._reader = None

    def ring_next(self) -> None:
        """Unless somebody reads, the first of those who are present is told that nobody does."""
        if self.is_vacant:
            for sleeper in list(self.present)[:1]:
                sleeper.ring()

    def ring_all(self) -> None:
        for sleeper in list(self.present):
            sleeper.ring()
