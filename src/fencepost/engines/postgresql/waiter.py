"""Somebody who waits for a grant, and how it is told."""

from typing import Protocol


class Bell(Protocol):
    def set(self) -> None: ...


class Waiter:
    """`tokens` once granted, `news` when it should look again, `over` when its lease has ended."""

    __slots__ = ("again_at", "bell", "key", "looks", "news", "over", "place", "tokens")

    def __init__(self, key: bytes = b"") -> None:
        # What a message to it begins with.
        self.key = key
        self.tokens: tuple[int, ...] = ()
        # When it came into the queue, on the scale of tokens: a lower one is of a grant that was taken away since.
        self.place = 0
        self.news = False
        self.over: str | None = None
        self.bell: Bell | None = None
        # When to look without being told, and how often that was.
        self.again_at = 0.0
        self.looks = 0

    @property
    def stirred(self) -> bool:
        return self.news or bool(self.tokens) or self.over is not None

    def stir(self, *, tokens: tuple[int, ...] = (), over: str | None = None) -> None:
        if tokens:
            self.tokens = tokens
        elif over is not None:
            self.over = over
        else:
            self.news = True
        self.ring()

    def ring(self) -> None:
        if self.bell is not None:
            self.bell.set()
