# Generated from src/fencepost/fences/result/_async/memory.py by tools/unasync.py. Do not edit: run `make gen`.
"""Results in this process: for tests, and for `memory://`."""

from collections.abc import Iterator
from contextlib import contextmanager

from fencepost.fences.protocol import Tokened, token_of
from fencepost.fences.result.shelf import Shelf


class MemoryResults:
    """Results that die with the process. Marks are not forgotten before."""

    def __init__(self, shelf: Shelf | None = None) -> None:
        self._shelf = shelf or Shelf()

    def find(self, name: str) -> str | None:
        return self._shelf.find(name)

    def claim(self, name: str, grant: Tokened | int) -> str | None:
        return self._shelf.claim(name, token_of(grant))

    def keep(self, name: str, grant: Tokened | int, value: str, expires_in: float | None) -> None:
        self._shelf.keep(name, token_of(grant), value, expires_in)

    @contextmanager
    def work(self) -> "Iterator[None]":
        yield
