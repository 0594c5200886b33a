# Generated from src/fencepost/fences/result/_async/memory.py by tools/unasync.py. Do not edit: run `make gen`.
"""Results in this process: for tests, and for `memory://`."""

from collections.abc import Iterator
from contextlib import contextmanager

from fencepost.core.name import check_name
from fencepost.fences.protocol import Tokened, token_of
from fencepost.fences.result.lifetime import check_result
from fencepost.fences.result.shelf import Shelf


class MemoryResults:
    """Results that die with the process. Marks are not forgotten before."""

    def __init__(self, shelf: Shelf | None = None) -> None:
        self._shelf = shelf or Shelf()

    def find(self, name: str) -> str | None:
        return self._shelf.find(check_name(name))

    def claim(self, name: str, grant: Tokened | int) -> str | None:
        return self._shelf.claim(check_name(name), token_of(grant))

    def keep(self, name: str, grant: Tokened | int, value: str, expires_in: float | None) -> None:
        lasting = check_result(value, expires_in)
        self._shelf.keep(check_name(name), token_of(grant), value, lasting)

    @contextmanager
    def work(self) -> "Iterator[None]":
        yield
