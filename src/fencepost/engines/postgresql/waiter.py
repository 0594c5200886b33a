"""Somebody who waits for a grant, and how it is told."""

from typing import Protocol


class Bell(Protocol):
    def set(self) -> None: ...


class Waiter:
    """`news` when it should look again, `over` when its lease has ended."""

    __slots__ = ("again_at", "bell", "looks", "news", "over")

    def __init__(self) -> None:
        self.news = False
        self.over: str | None = None
        self.bell: Bell | None = None
        # When to look without being told, and how often that was.
        self.again_at = 0.0
        self.looks = 0

    @property
    def stirred(self) -> bool:
        return self.news or self.over is not None

    def stir(self, *, over: str | None = None) -> None:
        if over is not None:
            self.over = over
        else:
            self.news = True
        self.ring()

    def ring(self) -> None:
        if self.bell is not None:
            self.bell.set()
