"""fencepost, through its public face."""

import asyncio
from collections.abc import Callable, Coroutine
from time import monotonic_ns, perf_counter_ns
from typing import Any, TypeVar

import fencepost
from benchmarks.contestant import Contestant

T = TypeVar("T")


class FencepostEtcd(Contestant):
    name = "fencepost etcd://"
    tokens = True

    def __init__(self, port: int) -> None:
        self._session = fencepost.connect(f"etcd://127.0.0.1:{port}", ttl=30)
        self._lock = self._session.lock("ours")
        self._grant = self._lock.acquire()
        self._grant.release()

    def acquire(self) -> None:
        self._grant = self._lock.acquire()

    def release(self) -> None:
        self._grant.release()

    def close(self) -> None:
        self._session.close()


class FencepostAsync(Contestant):
    """The asynchronous twin. Its cycles are timed inside one task, so the event loop's start is not counted."""

    name = "fencepost etcd:// async"
    tokens = True

    def __init__(self, port: int) -> None:
        self._loop = asyncio.new_event_loop()
        self._session = fencepost.connect_async(f"etcd://127.0.0.1:{port}", ttl=30)
        self._lock = self._session.lock("ours async")
        self._grant: fencepost.AsyncGrant
        self.acquire()
        self.release()

    def acquire(self) -> None:
        self._grant = self._run(self._lock.acquire())

    def release(self) -> None:
        self._run(self._grant.release())

    def close(self) -> None:
        self._run(self._session.close())
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
            await (await self._lock.acquire()).release()
            taken.append(perf_counter_ns() - before)
        return taken

    async def _contend(self, start_ns: int, until_ns: int) -> int:
        count = 0
        while True:
            await (await self._lock.acquire()).release()
            now = monotonic_ns()
            if now >= until_ns:
                return count
            count += now >= start_ns

    async def _wake(self, ready: Callable[[], None]) -> int:
        ready()
        grant = await self._lock.acquire()
        at = monotonic_ns()
        await grant.release()
        return at
