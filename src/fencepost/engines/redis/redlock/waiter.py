"""Somebody who waits for the votes of a majority, and how it is told."""

from math import inf
from typing import Protocol


class Bell(Protocol):
    def set(self) -> None: ...


class Waiter:
    """`news` when it should look, `over` when its lease has ended; it looks by itself at `again_at`."""

    __slots__ = ("again_at", "bell", "news", "over")

    def __init__(self) -> None:
        self.news = False
        self.over: str | None = None
        self.again_at = inf
        self.bell: Bell | None = None

    @property
    def stirred(self) -> bool:
        return self.news or self.over is not None

    def stir(self, *, over: str | None = None) -> None:
        self.over = self.over or over
        self.news = True
        self.ring()

    def look_by(self, at: float) -> None:
        """Look no later than that."""
        if at < self.again_at:
            self.again_at = at
            self.ring()

    def ring(self) -> None:
        if self.bell is not None:
            self.bell.set()
