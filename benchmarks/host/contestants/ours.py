"""fencepost, through its public face."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from time import monotonic_ns, perf_counter_ns
from typing import Any, TypeVar

import fencepost
from benchmarks.contestant import Contestant

T = TypeVar("T")


class FencepostSqlite(Contestant):
    name = "fencepost sqlite://"
    tokens = True

    def __init__(self, folder: Path) -> None:
        self._session = fencepost.connect(self.url(folder))
        self._lock = self._session.lock("lock")
        self._grant = self._lock.acquire()
        self._grant.release()

    def url(self, folder: Path) -> str:
        return f"sqlite:///{folder}/fencepost.db"

    def acquire(self) -> None:
        self._grant = self._lock.acquire()

    def release(self) -> None:
        self._grant.release()

    def close(self) -> None:
        self._session.close()


class FencepostMemory(FencepostSqlite):
    name = "fencepost memory://"
    across_processes = False

    def url(self, folder: Path) -> str:
        return "memory://"


class FencepostAsync(Contestant):
    """The asynchronous twin. Its cycles are timed inside one task, so the event loop's start is not counted."""

    name = "fencepost sqlite:// async"
    tokens = True

    def __init__(self, folder: Path) -> None:
        self._loop = asyncio.new_event_loop()
        self._session = fencepost.connect_async(f"sqlite:///{folder}/fencepost-async.db")
        self._lock = self._session.lock("lock")
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
        acquire, clock = self._lock.acquire, perf_counter_ns
        taken = []
        for _ in range(count):
            before = clock()
            grant = await acquire()
            await grant.release()
            taken.append(clock() - before)
        return taken

    async def _contend(self, start_ns: int, until_ns: int) -> int:
        acquire, clock = self._lock.acquire, monotonic_ns
        count = 0
        while True:
            grant = await acquire()
            await grant.release()
            now = clock()
            if now >= until_ns:
                return count
            count += now >= start_ns

    async def _wake(self, ready: Callable[[], None]) -> int:
        ready()
        grant = await self._lock.acquire()
        at = monotonic_ns()
        await grant.release()
        return at
