"""A place in the queue, as the engine that waits in it remembers it."""

from collections.abc import Collection
from typing import Any

from fencepost.engines.sqlite.process import Peer

Key = tuple[str, int]
# Who stands in line looks whom to watch only after this long: where locks change hands quickly, its turn comes first.
LOOK_AFTER = 0.05


class Place:
    """What is known without looking.

    `tokens` came in a letter, `over` says why the wait ended, and `stirred` that either did, or that looking again
    may help; `near` that the turn comes soon. `watching` are the processes whose death would be news, and at `until`
    the first lease of theirs ends.
    """

    __slots__ = ("bell", "near", "over", "stirred", "tokens", "turns", "until", "watching")

    def __init__(self, turns: tuple[int, ...], until: float = 0.0) -> None:
        self.turns = turns
        self.until = until
        self.bell: Any = None
        self.near = False
        self.tokens: tuple[int, ...] = ()
        self.over: str | None = None
        self.stirred = False
        self.watching: Collection[Peer] = ()

    def stir(self, *, tokens: tuple[int, ...] = (), over: str | None = None) -> None:
        self.tokens = tokens or self.tokens
        self.over = over or self.over
        self.stirred = True
        if self.bell is not None:
            self.bell.set()

    def settle(self) -> None:
        """Somebody looks: what has stirred until now is known."""
        self.stirred = bool(self.tokens or self.over)

    def ring(self) -> None:
        """Most wait for mail and need no bell: whoever makes one must look once more before it waits."""
        if self.bell is not None:
            self.bell.set()
