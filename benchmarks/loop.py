"""Contestants that live on an event loop. Their cycles are timed inside one task: the loop's start is not counted."""

import asyncio
from collections.abc import Callable, Coroutine
from time import monotonic_ns, perf_counter_ns
from typing import Any, TypeVar

from benchmarks.contestant import Contestant

T = TypeVar("T")


class AsyncContestant(Contestant):
    def __init__(self, place: Any) -> None:
        self.loop = asyncio.new_event_loop()
        self.run(self.open(place))

    async def open(self, place: Any) -> None:
        raise NotImplementedError

    async def take(self) -> None:
        raise NotImplementedError

    async def give_back(self) -> None:
        raise NotImplementedError

    async def leave(self) -> None:
        raise NotImplementedError

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(work)

    def acquire(self) -> None:
        self.run(self.take())

    def release(self) -> None:
        self.run(self.give_back())

    def close(self) -> None:
        self.run(self.leave())
        self.loop.close()

    def cycles(self, count: int) -> list[int]:
        return self.run(self._cycles(count))

    def contend(self, start_ns: int, until_ns: int) -> int:
        return self.run(self._contend(start_ns, until_ns))

    def wake(self, ready: Callable[[], None]) -> int:
        return self.run(self._wake(ready))

    async def _cycles(self, count: int) -> list[int]:
        take, give_back, clock = self.take, self.give_back, perf_counter_ns
        taken = []
        for _ in range(count):
            before = clock()
            await take()
            await give_back()
            taken.append(clock() - before)
        return taken

    async def _contend(self, start_ns: int, until_ns: int) -> int:
        take, give_back, clock = self.take, self.give_back, monotonic_ns
        count = 0
        while True:
            await take()
            await give_back()
            now = clock()
            if now >= until_ns:
                return count
            count += now >= start_ns

    async def _wake(self, ready: Callable[[], None]) -> int:
        ready()
        await self.take()
        at = monotonic_ns()
        await self.give_back()
        return at
