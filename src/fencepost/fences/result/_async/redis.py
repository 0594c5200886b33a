# Written by hand; the blocking twin under _sync is generated from it.
"""Results in Redis or Valkey."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fencepost.core.name import check_name
from fencepost.errors import Refused
from fencepost.fences.protocol import Tokened, token_of
from fencepost.fences.redis._async.fence import Script
from fencepost.fences.redis.source import check_client, refusal
from fencepost.fences.result.lifetime import MARK_OUTLIVES, check_result
from fencepost.fences.result.source import CLAIM, KEEP, keys_of, milliseconds


class AsyncRedisResults:
    """Results behind marks of their own, through a client of redis-py or valkey-py. As durable as that Redis is.

    A mark is forgotten a week after its result has expired, and never if that does not.
    """

    def __init__(self, client: Any) -> None:
        self._client = check_client(client, "AsyncRedisResults")
        self._claim: Script = client.register_script(CLAIM)
        self._keep: Script = client.register_script(KEEP)

    async def find(self, name: str) -> str | None:
        _, key = keys_of(check_name(name))
        return _text(name, await self._client.get(key))

    async def claim(self, name: str, grant: Tokened | int) -> str | None:
        return _text(name, await self._call(self._claim, name, grant, milliseconds(MARK_OUTLIVES)))

    async def keep(self, name: str, grant: Tokened | int, value: str, expires_in: float | None) -> None:
        lasting = check_result(value, expires_in)
        lives = () if lasting is None else (milliseconds(lasting), milliseconds(lasting + MARK_OUTLIVES))
        await self._call(self._keep, name, grant, value, *lives)

    @asynccontextmanager
    async def work(self) -> "AsyncIterator[None]":
        yield

    async def _call(self, script: Script, name: str, grant: Tokened | int, *args: object) -> Any:
        keys, token = keys_of(check_name(name)), token_of(grant)
        try:
            return await script(keys=list(keys), args=[token, *args])
        except Exception as error:
            refused = refusal(error, name, token, keys[0])
            if refused is None:
                raise
            raise refused from None


def _text(name: str, value: Any) -> str | None:
    try:
        return value.decode() if isinstance(value, bytes) else value
    except UnicodeDecodeError:
        raise Refused(f"what is kept as the result of '{name}' is none: somebody else has written it") from None
