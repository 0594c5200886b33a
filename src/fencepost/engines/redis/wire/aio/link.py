"""The asynchronous connection to one server: all callers share it."""

import asyncio
from collections.abc import Sequence

from fencepost._runtime import aio as runtime
from fencepost.engines.redis.address import Address
from fencepost.engines.redis.resp import Reply
from fencepost.engines.redis.trouble import unreachable
from fencepost.engines.redis.wire.aio.connection import Connection, connect
from fencepost.errors import EngineError, Unavailable


class Link:
    """The connection to one server, made when it is needed, and again after it was lost."""

    # Until there is one; whoever makes this may be interrupted.
    _connection: Connection | None = None

    def __init__(self, address: Address, patience: float) -> None:
        self.address = address
        self.patience = patience
        self._connecting = runtime.Mutex()
        self._closed = False

    async def connection(self) -> Connection:
        async with self._connecting:
            connection = self._connection
            if connection is None or connection.error is not None:
                if self._closed:
                    raise Unavailable(f"the connection to redis at {self.address} was closed here")
                connection = self._connection = await connect(self.address, self.patience)
            return connection

    async def call(self, command: bytes) -> Reply:
        connection = self._connection
        if connection is None or connection.error is not None:
            return (await self.calls(command, 1))[0]
        try:
            return await connection.send(command)
        except (OSError, ValueError) as error:
            raise unreachable(error, self.address, self.patience) from error

    async def calls(self, commands: bytes, count: int) -> list[Reply]:
        try:
            # All of it together: many may wait for their turn to connect, and each would have as long in vain.
            async with asyncio.timeout(self.patience):
                connection = await self.connection()
                # Only the first writes; the others are places for the replies to come.
                futures = [connection.send(commands), *(connection.send(b"") for _ in range(count - 1))]
                return [await future for future in futures]
        except (OSError, ValueError) as error:
            raise unreachable(error, self.address, self.patience) from error

    def reset(self) -> None:
        """What was said on it makes no sense: the next call makes another connection."""
        if self._connection is not None:
            self._connection.end(ConnectionError("the server gave an answer that makes no sense"))

    def close(self) -> None:
        self._closed = True
        if self._connection is not None:
            self._connection.end(ConnectionError("closed here"))

    def __del__(self) -> None:
        # Whoever was interrupted on the way to closing it is told nothing: the socket is closed all the same.
        if self._connection is not None:
            self._connection.end(ConnectionError("forgotten here"))


async def scatter(work: Sequence[tuple[Link, bytes, int]]) -> list[list[Reply] | EngineError]:
    """What each link answers to its commands, all asked at once; or why it does not."""
    calls = (link.calls(commands, count) for link, commands, count in work)
    found: list[list[Reply] | EngineError] = []
    for each in await asyncio.gather(*calls, return_exceptions=True):
        if isinstance(each, BaseException) and not isinstance(each, EngineError):
            raise each
        found.append(each)
    return found
