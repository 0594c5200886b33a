"""What asynchronous connections read into."""

import asyncio
import socket
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest

from fencepost._runtime.protocol import ROOM, Protocol
from fencepost.drivers.etcd.wire import aio as etcd
from fencepost.engines.consul.wire import aio as consul
from fencepost.engines.redis.wire.aio import connection as redis
from fencepost.engines.zookeeper.wire import aio as zookeeper

pytestmark = pytest.mark.unit


class Listener(Protocol):
    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[bytes] = []
        self.news = asyncio.Event()

    def data_received(self, data: bytes) -> None:
        self.pieces.append(data)
        self.news.set()

    async def hear(self, count: int) -> bytes:
        """All that came, once it is that much."""
        while sum(map(len, self.pieces)) < count:
            self.news.clear()
            await self.news.wait()
        return b"".join(self.pieces)


@asynccontextmanager
async def connected() -> AsyncIterator[tuple[Callable[[bytes], Awaitable[None]], Listener]]:
    """What says something at the other end, and who hears it at this one."""
    here, there = socket.socketpair()
    there.setblocking(False)
    loop = asyncio.get_running_loop()
    transport, listener = await loop.create_connection(Listener, sock=here)
    try:
        yield partial(loop.sock_sendall, there), listener
    finally:
        transport.abort()
        there.close()


async def test_what_is_longer_than_the_room_comes_whole_and_in_order() -> None:
    words = b"".join(number.to_bytes(4, "big") for number in range(ROOM))
    async with connected() as (say, listener):
        _, heard = await asyncio.gather(say(words), listener.hear(len(words)))
    assert heard == words


async def test_what_was_given_stays_as_it_was_when_more_comes() -> None:
    async with connected() as (say, listener):
        await say(b"first")
        await listener.hear(5)
        await say(b"other")
        assert await listener.hear(10) == b"firstother"


async def test_to_read_little_takes_little_memory() -> None:
    async with connected() as (say, listener):
        await say(b"before")
        await listener.hear(6)
        tracemalloc.start()
        try:
            before, _ = tracemalloc.get_traced_memory()
            await say(b"little")
            await listener.hear(12)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak - before < 16_384


@pytest.mark.parametrize("wire", [consul, etcd, redis, zookeeper], ids=lambda wire: wire.__name__.split(".")[2])
def test_every_asynchronous_connection_reads_this_way(wire: Any) -> None:
    assert issubclass(wire.Connection, Protocol)
    assert wire.Connection.buffer_updated is Protocol.buffer_updated
