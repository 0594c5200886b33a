"""The Python peers that can be installed beside each other."""

import asyncio
import time

import aetcd
import etcd3gw

from benchmarks.contestant import Contestant
from benchmarks.loop import AsyncContestant

TTL = 60


class Aetcd(AsyncContestant):
    """gRPC on asyncio."""

    name = "aetcd"

    async def open(self, place: int) -> None:
        self._client = aetcd.Client(host="127.0.0.1", port=place)
        await self._client.connect()
        self._lock = self._client.lock(b"aetcd", ttl=TTL)

    async def take(self) -> None:
        await self._lock.acquire(timeout=None)

    async def give_back(self) -> None:
        await self._lock.release()

    async def leave(self) -> None:
        await self._client.close()
        # Its calls end a little later, and complain to a loop that is closed by then.
        await asyncio.sleep(0.1)


class Etcd3gw(Contestant):
    """JSON over HTTP. Its lock does not wait: one has to try again, here after 1 ms."""

    name = "etcd3gw"

    def __init__(self, port: int) -> None:
        client = etcd3gw.client(host="127.0.0.1", port=port, api_path="/v3/")
        self._lock = client.lock("etcd3gw", ttl=TTL)

    def acquire(self) -> None:
        while not self._lock.acquire():
            time.sleep(0.001)

    def release(self) -> None:
        self._lock.release()
