"""Many wait, and one of them reads for all: whoever comes first. No thread or task of our own is needed.

Right in both flavours: nothing here waits, and the role is handed on by what is atomic under threads.
"""

from collections import deque
from typing import Protocol


class Sleeper(Protocol):
    def ring(self) -> None: ...


class Watch:
    """Whoever is present and takes the role reads; when it leaves, for whatever reason, the next is rung for."""

    __slots__ = ("_present", "_role")

    def __init__(self) -> None:
        self._present: deque[Sleeper] = deque()
        # Whoever takes the one thing in it reads.
        self._role = deque([True])

    @property
    def is_vacant(self) -> bool:
        return bool(self._role)

    def enter(self, sleeper: Sleeper) -> None:
        self._present.append(sleeper)

    def take(self) -> bool:
        """Whether the role is the caller's from now on; then it must `hand_back`."""
        try:
            return bool(self._role) and self._role.pop()
        except IndexError:
            # Another was quicker.
            return False

    def hand_back(self) -> None:
        self._role.append(True)

    def leave(self, sleeper: Sleeper) -> None:
        """Nobody reads now, unless somebody took the role: then the first of those who are left is told."""
        self._present.remove(sleeper)
        if self._role:
            self.ring_next()

    def ring_next(self) -> None:
        if self._present:
            try:
                self._present[0].ring()
            except IndexError:
                # The last has left meanwhile.
                pass

    def ring_all(self) -> None:
        for sleeper in list(self._present):
            sleeper.ring()
