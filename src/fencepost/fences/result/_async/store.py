# Written by hand; the blocking twin under _sync is generated from it.
"""What a store of results must do."""

from contextlib import AbstractAsyncContextManager
from typing import Protocol

from fencepost.fences.protocol import Tokened


class AsyncResults(Protocol):
    """Results by name, as JSON text, each behind a fence of its own."""

    async def find(self, name: str) -> str | None:
        """The result, if there is one that has not expired."""

    async def claim(self, name: str, grant: Tokened | int) -> str | None:
        """Show the token, then look: every lower one is refused from now on. Raises `Stale` if it is lower itself."""

    async def keep(self, name: str, grant: Tokened | int, value: str, expires_in: float | None) -> None:
        """Keep a result, unless the token is stale by now."""

    def work(self) -> AbstractAsyncContextManager[None]:
        """Around the work and the keeping of its result: a transaction, where the store has them and was asked to."""
