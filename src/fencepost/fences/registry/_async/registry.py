# Written by hand; the blocking twin under _sync is generated from it.
"""Tokens kept beside a resource that can not keep them itself: a printer, a mail server, somebody else's API."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fencepost.fences.protocol import Tokened
from fencepost.fences.redis._async.fence import AsyncRedisFence
from fencepost.fences.redis.source import check_client
from fencepost.fences.sql._async.fence import AsyncSqlFence


class AsyncRegistry:
    """The marks of resources that have none, in `store`: a connection that a SQL fence takes, or a client of Redis.

    `admit` refuses stale tokens before the resource is used. `visit` also asks again afterwards, and tells whoever was
    overtaken on the way.

    Limits. The check and the use are two steps: a holder that is paused between them is not refused, it is told
    afterwards, by `Stale` at the end of its visit. Where a resource has a place for a number, or a gateway can stand
    before it, use a fence that leaves no gap.
    """

    def __init__(self, store: Any) -> None:
        self._fence: AsyncRedisFence | AsyncSqlFence
        if hasattr(store, "register_script"):
            self._fence = AsyncRedisFence(check_client(store, "AsyncRegistry"))
        else:
            self._fence = AsyncSqlFence(store)

    async def admit(self, name: str, grant: Tokened | int) -> None:
        """Show the token: every lower one is refused from now on. Raises `Stale` if it is lower itself."""
        await self._fence.claim(name, grant)

    @asynccontextmanager
    async def visit(self, name: str, grant: Tokened | int) -> "AsyncIterator[None]":
        """Admit, run the block, and look again: `Stale` if a newer holder came while it ran."""
        await self._fence.claim(name, grant)
        yield
        await self._fence.claim(name, grant)

    async def highest(self, name: str) -> int:
        """The mark of `name`, 0 if no token was ever accepted. For people and tests; it decides nothing."""
        return await self._fence.highest(name)
