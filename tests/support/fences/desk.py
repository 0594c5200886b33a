"""Who works at a place, and what a place can do."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from fencepost.fences import Fence

NAME = "orders/42"


@dataclass
class Desk:
    """What one holder works with: its fence, and how it reads and writes the list inside a guard."""

    fence: Fence[Any]
    read: Callable[[Any], list[str]]
    write: Callable[[Any, list[str]], None]

    def add(self, token: int, word: str, name: str = NAME) -> None:
        with self.fence.guard(name, token) as guarded:
            self.write(guarded, [*self.read(guarded), word])


class Place(Protocol):
    """The resource. Every `open` is another holder; `look` reads past the fence."""

    def open(self) -> Desk: ...
    def look(self) -> list[str]: ...
    def close(self) -> None: ...
