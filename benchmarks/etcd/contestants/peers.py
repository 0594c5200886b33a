"""The Python peers that can be installed beside each other."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from time import monotonic_ns, perf_counter_ns
from typing import Any, TypeVar

import aetcd
import etcd3gw

from benchmarks.contestant import Contestant

T = TypeVar("T")
TTL = 60


class Aetcd(Contestant):
    """gRPC on asyncio. Timed inside one task, as ours is."""

    name = "aetcd"

    def __init__(self, port: int) -> None:
        self._loop = asyncio.new_event_loop()
        self._run(self._open(port))

    async def _open(self, port: int) -> None:
        self._client = aetcd.Client(host="127.0.0.1", port=port)
        await self._client.connect()
        self._lock = self._client.lock(b"aetcd", ttl=TTL)

    def acquire(self) -> None:
        self._run(self._lock.acquire(timeout=None))

    def release(self) -> None:
        self._run(self._lock.release())

    def close(self) -> None:
        self._run(self._client.close())
        # Its calls end a little later, and complain to a loop that is closed by then.
        self._run(asyncio.sleep(0.1))
        self._loop.close()

    def cycles(self, count: int) -> list[int]:
        return self._run(self._cycles(count))

    def contend(self, start_ns: int, until_ns: int) -> int:
        return self._run(self._contend(start_ns, until_ns))

    def wake(self, ready: Callable[[], None]) -> int:
        return self._run(self._wake(ready))

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._loop.run_until_complete(work)

    async def _cycles(self, count: int) -> list[int]:
        taken = []
        for _ in range(count):
            before = perf_counter_ns()
            await self._lock.acquire(timeout=None)
            await self._lock.release()
            taken.append(perf_counter_ns() - before)
        return taken

    async def _contend(self, start_ns: int, until_ns: int) -> int:
        count = 0
        while True:
            await self._lock.acquire(timeout=None)
            await self._lock.release()
            now = monotonic_ns()
            if now >= until_ns:
                return count
            count += now >= start_ns

    async def _wake(self, ready: Callable[[], None]) -> int:
        ready()
        await self._lock.acquire(timeout=None)
        at = monotonic_ns()
        await self._lock.release()
        return at


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
