"""fencepost, through its public face: what its contestants at all places have in common."""

import asyncio
from collections.abc import Callable, Coroutine
from time import monotonic_ns, perf_counter_ns
from typing import Any, ClassVar, TypeVar

import fencepost
from benchmarks.contestant import Contestant

T = TypeVar("T")


class Fencepost(Contestant):
    """`url` says where; a `ttl` is long enough that no renewal falls into a batch."""

    tokens = True
    ttl: ClassVar[float] = 60.0

    def __init__(self, place: Any) -> None:
        self._session = fencepost.connect(self.url(place), ttl=self.ttl)
        self._lock = self._session.lock("lock")
        self._grant = self._lock.acquire()
        self._grant.release()

    def url(self, place: Any) -> str:
        raise NotImplementedError

    def acquire(self) -> None:
        self._grant = self._lock.acquire()

    def release(self) -> None:
        self._grant.release()

    def close(self) -> None:
        self._session.close()


class FencepostAsync(Contestant):
    """The asynchronous twin. Its cycles are timed inside one task, so the event loop's start is not counted."""

    tokens = True
    ttl: ClassVar[float] = 60.0

    def __init__(self, place: Any) -> None:
        self._loop = asyncio.new_event_loop()
        self._session = fencepost.connect_async(self.url(place), ttl=self.ttl)
        self._lock = self._session.lock("lock async")
        self._grant: fencepost.AsyncGrant
        self.acquire()
        self.release()

    def url(self, place: Any) -> str:
        raise NotImplementedError

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
        # The lease may have run out while others were measured: nothing is renewed while the loop stands still.
        await (await acquire()).release()
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
