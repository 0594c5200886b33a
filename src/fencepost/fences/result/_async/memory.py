# Written by hand; the blocking twin under _sync is generated from it.
"""Results in this process: for tests, and for `memory://`."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fencepost.core.name import check_name
from fencepost.fences.protocol import Tokened, token_of
from fencepost.fences.result.lifetime import check_result
from fencepost.fences.result.shelf import Shelf


class AsyncMemoryResults:
    """Results that die with the process. Marks are not forgotten before."""

    def __init__(self, shelf: Shelf | None = None) -> None:
        self._shelf = shelf or Shelf()

    async def find(self, name: str) -> str | None:
        return self._shelf.find(check_name(name))

    async def claim(self, name: str, grant: Tokened | int) -> str | None:
        return self._shelf.claim(check_name(name), token_of(grant))

    async def keep(self, name: str, grant: Tokened | int, value: str, expires_in: float | None) -> None:
        lasting = check_result(value, expires_in)
        self._shelf.keep(check_name(name), token_of(grant), value, lasting)

    @asynccontextmanager
    async def work(self) -> "AsyncIterator[None]":
        yield
