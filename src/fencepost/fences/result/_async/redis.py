# Written by hand; the blocking twin under _sync is generated from it.
"""Results in Redis or Valkey."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fencepost.core.name import check_name
from fencepost.fences.protocol import Tokened
from fencepost.fences.redis._async.fence import AsyncRedisFence
from fencepost.fences.redis.source import mark_key
from fencepost.fences.result.lifetime import MARK_OUTLIVES


class AsyncRedisResults:
    """Results behind a Redis fence, through a client of redis-py or valkey-py. As durable as that Redis is."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._fence = AsyncRedisFence(client)

    async def find(self, name: str) -> str | None:
        return _text(await self._client.get(_key(check_name(name))))

    async def claim(self, name: str, grant: Tokened | int) -> str | None:
        key = _key(check_name(name))
        return _text(await self._fence.run(name, grant, [key], [_remember(name, 0.0), ("GET", key)]))

    async def keep(self, name: str, grant: Tokened | int, value: str, expires_in: float | None) -> None:
        key = _key(check_name(name))
        expiry = () if expires_in is None else ("PX", max(1, int(expires_in * 1000)))
        # A result that never expires needs no mark any more: whoever comes finds it.
        await self._fence.run(name, grant, [key], [("SET", key, value, *expiry), _remember(name, expires_in or 0.0)])

    @asynccontextmanager
    async def work(self) -> "AsyncIterator[None]":
        yield


def _key(name: str) -> str:
    """In the cluster slot of the name's mark."""
    return mark_key(name).replace("fencepost:fence", "fencepost:result", 1)


def _remember(name: str, seconds: float) -> tuple[object, ...]:
    return ("PEXPIRE", mark_key(name), int((seconds + MARK_OUTLIVES) * 1000))


def _text(value: Any) -> str | None:
    return value.decode() if isinstance(value, bytes) else value
