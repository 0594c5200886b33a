"""Many who want the same lock: tasks of a few sessions in one process, which does as it is told."""

import asyncio
import threading
import time
from collections.abc import Coroutine
from time import monotonic_ns, perf_counter_ns
from typing import Any, NamedTuple, TypeVar

import fencepost
from benchmarks.growth.place import TTL
from benchmarks.growth.traffic import Traffic, traffic
from fencepost.testing.contract._async.attempt import until

T = TypeVar("T")
SESSIONS = 2
PATIENCE = 120.0
# How long each holds, and stays away afterwards: what a hand-over causes is over by then.
HOLD = 0.004
REST = 0.002
WARM_UP = 20
CALM = 0.1
# How many come at once.
ABREAST = 20


class Turn(NamedTuple):
    """Somebody had the lock: which of all turns it was, and from when to when on the monotonic clock."""

    token: int
    got_ns: int
    released_ns: int


class Shift(NamedTuple):
    """What happened in one process while the lock went round."""

    turns: list[Turn]
    woken: int
    traffic: Traffic
    cpu_s: float


class Crowd:
    """The event loop runs in a thread of its own, so that those who wait are served also between two orders."""

    def __init__(self, url: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._url = url
        self._woken = 0
        self._turns: list[Turn] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._going = asyncio.Event()
        self._sessions: list[fencepost.AsyncSession] = self._run(self._connect())

    def join(self, count: int) -> float:
        """That many come to want the lock. How many seconds until each of them waits, or has it."""
        taken = self._run(self._join(count))
        self._calm_down()
        return taken

    def _calm_down(self) -> None:
        """Who has just come may look around once more: wait until nothing happens here."""
        longest = time.monotonic() + PATIENCE / 3
        while time.monotonic() < longest:
            before = time.process_time()
            time.sleep(CALM)
            if time.process_time() - before < CALM / 10:
                return

    def elsewhere(self, count: int) -> list[int]:
        """How long each of `count` acquire and release pairs of another name took, in ns."""
        return self._run(self._elsewhere(count))

    def go_round(self, start_ns: int, until_ns: int) -> Shift:
        """Let the lock go from hand to hand in that time, and then stand still again."""
        time.sleep(max(0, start_ns - monotonic_ns()) / 1e9)
        self._loop.call_soon_threadsafe(self._going.set)
        # Once all are at it.
        time.sleep(0.05)
        woken, before, cpu, first = self._woken, traffic(), time.process_time(), len(self._turns)
        time.sleep(max(0, until_ns - monotonic_ns()) / 1e9)
        found = Shift(self._turns[first:], self._woken - woken, traffic().since(before), time.process_time() - cpu)
        self._loop.call_soon_threadsafe(self._going.clear)
        return found

    def close(self) -> None:
        self._run(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE)
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE)

    async def _connect(self) -> list[fencepost.AsyncSession]:
        sessions = [fencepost.connect_async(self._url, ttl=TTL) for _ in range(SESSIONS)]
        for session in sessions:
            self._count_wakes(session.engine)
        return sessions

    def _count_wakes(self, engine: Any) -> None:
        wait = engine.wait

        async def counting(*arguments: Any) -> Any:
            answer = await wait(*arguments)
            self._woken += 1
            return answer

        engine.wait = counting

    async def _join(self, count: int) -> float:
        started_at = time.monotonic()
        while len(self._tasks) < count:
            for number in range(len(self._tasks), min(count, len(self._tasks) + ABREAST)):
                lock = self._sessions[number % SESSIONS].lock("line")
                self._tasks.append(self._loop.create_task(self._take_turns(lock)))
            await until(self._all_there, PATIENCE)
        return time.monotonic() - started_at

    async def _all_there(self) -> bool:
        for task in self._tasks:
            if task.done():
                task.result()
        found = [session.statistics() for session in self._sessions]
        return sum(each.waiting + each.held for each in found) == len(self._tasks)

    async def _take_turns(self, lock: fencepost.AsyncLock) -> None:
        while True:
            grant = await lock.acquire()
            got_ns = monotonic_ns()
            await self._going.wait()
            await asyncio.sleep(HOLD)
            self._turns.append(Turn(grant.token, got_ns, monotonic_ns()))
            await grant.release()
            await asyncio.sleep(REST)

    async def _elsewhere(self, count: int) -> list[int]:
        async with fencepost.connect_async(self._url, ttl=TTL) as session:
            lock = session.lock("elsewhere")
            taken = []
            for _ in range(WARM_UP + count):
                before = perf_counter_ns()
                await (await lock.acquire()).release()
                taken.append(perf_counter_ns() - before)
            return taken[WARM_UP:]

    async def _close(self) -> None:
        # First of all: whoever waits is told so, and need not withdraw on its own.
        for session in self._sessions:
            await session.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
