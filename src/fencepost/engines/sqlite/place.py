"""A place in the queue, as the engine that waits in it remembers it."""

from typing import Any

from fencepost.engines.sqlite.process import Peer

Key = tuple[str, int]


class Place:
    """What is known without looking.

    `tokens` came in a letter, `news` says that looking again may help, `over` why the wait ended.
    `watching` are the processes whose death would be news, and at `until` the first lease of theirs ends.
    """

    __slots__ = ("bell", "news", "over", "tickets", "tokens", "until", "watching")

    def __init__(self, tickets: tuple[int, ...]) -> None:
        self.tickets = tickets
        self.bell: Any = None
        self.tokens: tuple[int, ...] = ()
        self.news = False
        self.over: str | None = None
        self.watching: set[Peer] = set()
        self.until = 0.0

    @property
    def stirred(self) -> bool:
        return bool(self.tokens or self.news or self.over)

    def stir(self, *, tokens: tuple[int, ...] = (), over: str | None = None) -> None:
        self.tokens = tokens or self.tokens
        self.over = over or self.over
        self.news = True
        self.ring()

    def ring(self) -> None:
        """Most wait for mail and need no bell: whoever makes one must look once more before it waits."""
        if self.bell is not None:
            self.bell.set()
