"""Somebody who waits for news on a watch."""

from typing import Protocol


class Bell(Protocol):
    def set(self) -> None: ...


class Waiter:
    """`stirred` once there is news; whoever waits looks for itself what it is."""

    __slots__ = ("bell", "stirred")

    def __init__(self) -> None:
        self.stirred = False
        self.bell: Bell | None = None

    def stir(self) -> None:
        self.stirred = True
        self.ring()

    def ring(self) -> None:
        if self.bell is not None:
            self.bell.set()
