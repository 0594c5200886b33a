"""The law of deadlines, for everything that takes a time-out, and wherever in the call the engine turns silent."""

import asyncio
import random
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

import pytest

from fencepost._runtime import aio as runtime
from fencepost.core.lease import Terms
from fencepost.core.url import parse_url
from fencepost.engines.memory._async.engine import AsyncMemoryEngine
from fencepost.errors import FencepostError
from fencepost.fences.result._async.memory import AsyncMemoryResults
from fencepost.fences.result.shelf import shelf_of
from fencepost.primitives._async.session import AsyncSession
from fencepost.testing import AsyncFaultyEngine
from fencepost.testing.simulation.loop import LoopClock, SimulatedLoop

pytestmark = [pytest.mark.unit, pytest.mark.usefixtures("users_patience")]
# What the law allows after the time-out; and what a try has instead of one.
GRACE, TRY = 0.1, 1.0
TTL = 120.0
NAMES = ("a", "b", "c")
Call = Callable[[AsyncSession, float], Coroutine[Any, Any, Any]]
Try = Callable[[AsyncSession], Coroutine[Any, Any, Any]]


async def nothing() -> int:
    return 1


def once(session: AsyncSession, timeout: float) -> Coroutine[Any, Any, int]:
    store = AsyncMemoryResults(shelf_of(f"{random.random()}"))
    return session.once("a", store=store, timeout=timeout).run(nothing)


CALLS: dict[str, Call] = {
    "lock": lambda session, timeout: session.lock("a").acquire(timeout=timeout),
    "write lock": lambda session, timeout: session.rwlock("a").write().acquire(timeout=timeout),
    "semaphore": lambda session, timeout: session.semaphore("s", limit=1).acquire(timeout=timeout),
    "all of several": lambda session, timeout: session.lock_all(NAMES).acquire(timeout=timeout),
    "election": lambda session, timeout: session.election("a").campaign("me", timeout=timeout),
    "group": lambda session, timeout: session.group("g").acquire(timeout=timeout),
    "partitions": lambda session, timeout: session.partitions("p", 3).acquire(timeout=timeout),
    "job": lambda session, timeout: session.job("a").begin(1, timeout=timeout),
    "job that was done": lambda session, timeout: session.job("done").begin(1, timeout=timeout),
    "barrier": lambda session, timeout: session.barrier("b", 2).wait(timeout=timeout),
    "barrier of one": lambda session, timeout: session.barrier("b", 1).wait(timeout=timeout),
    "latch": lambda session, timeout: session.latch("l", 2).wait(timeout=timeout),
    "rate limit": lambda session, timeout: session.rate_limit("r", 1, 0.3).acquire(timeout=timeout),
}
TRIES: dict[str, Try] = {
    "lock": lambda session: session.lock("a").try_acquire(),
    "all of several": lambda session: session.lock_all(NAMES).try_acquire(),
    "election": lambda session: session.election("a").try_acquire(),
    "group": lambda session: session.group("g").try_acquire(),
    "partitions": lambda session: session.partitions("p", 3).try_acquire(),
    "rate limit": lambda session: session.rate_limit("r", 1, 0.3).try_acquire(),
}


class Fading(AsyncFaultyEngine):
    """It takes a while for each of so many answers, and then never answers again."""

    def __init__(self, engine: AsyncMemoryEngine, clock: LoopClock, answers: int, pace: float) -> None:
        super().__init__(engine, clock=clock)
        # One name after the other: the longer way.
        self.traits = replace(engine.traits, together=False)  # type: ignore[misc]
        self.answers = answers
        self.pace = pace

    async def depart(self, method: str) -> None:
        if self.answers == 0:
            self.hang()
        self.answers -= 1
        if self.pace and self.answers >= 0:
            self.delay(method, self.pace)
        await super().depart(method)

    def heal(self) -> None:
        self.answers = -1
        self.pace = 0.0
        super().heal()


async def check(call: Try, most: float, fade: Fading, taken: bool) -> None:
    clock = LoopClock()
    session = AsyncSession(fade, Terms(TTL), label="hasty", clock=clock)
    other = AsyncSession(fade.engine, Terms(TTL), label="other", clock=clock)
    run = await other.job("done").begin(1)
    assert run is not None
    async with run:
        pass
    held = []
    if taken:
        locks = (other.lock("a"), other.lock("once/a"), other.semaphore("s", limit=1))
        held = [await lock.acquire() for lock in locks]
        await other.rate_limit("r", 1, 0.3).acquire()
    standing = set(await other.names())
    result: Any = None
    began_at = clock.now()
    task = asyncio.ensure_future(call(session))
    await asyncio.wait([task], timeout=most + 60.0)
    took = clock.now() - began_at
    fade.heal()
    try:
        result = await task
    except FencepostError:
        pass
    assert took <= most + 1e-6
    if result is None or isinstance(result, int | float):
        # Long enough for whoever settles it, and too short for the lease: it is renewed again.
        await clock.wait(runtime.Event(), clock.now() + TTL * 0.9)
        assert set(await other.names()) == standing
    if hasattr(result, "release"):
        await result.release()
    for grant in held:
        await grant.release()
    await session.close()
    await other.close()


def play(call: Try, most: float, taken: bool, pace: float) -> None:
    """Once for each number of answers after which the engine may turn silent."""
    for answers in range(100):
        loop = SimulatedLoop(random.Random(answers))
        fades: list[Fading] = []

        async def run(answers: int = answers, fades: list[Fading] = fades) -> None:
            clock = LoopClock()
            inner = AsyncMemoryEngine(parse_url(f"memory://{random.random()}"), clock=clock, patience=1.0)
            fades.append(Fading(inner, clock, answers, pace))
            await check(call, most, fades[0], taken)

        try:
            loop.run_until_complete(run())
        finally:
            loop.close()
        if len(fades[0].calls) < answers:
            return
    raise AssertionError("it never came to an end by itself")


@pytest.mark.parametrize("pace", [0.0, 0.2], ids=["quick", "slow"])
@pytest.mark.parametrize("taken", [False, True], ids=["free", "taken"])
@pytest.mark.parametrize("timeout", [0.05, 0.5])
@pytest.mark.parametrize("name", CALLS)
def test_it_is_back_by_its_time_out_wherever_the_engine_turns_silent(
    name: str, timeout: float, taken: bool, pace: float
) -> None:
    play(lambda session: CALLS[name](session, timeout), timeout + GRACE, taken, pace)


@pytest.mark.parametrize("pace", [0.0, 0.2], ids=["quick", "slow"])
@pytest.mark.parametrize("taken", [False, True], ids=["free", "taken"])
@pytest.mark.parametrize("name", TRIES)
def test_a_try_is_back_after_a_second_wherever_the_engine_turns_silent(name: str, taken: bool, pace: float) -> None:
    play(TRIES[name], TRY + GRACE, taken, pace)


@pytest.mark.parametrize("pace", [0.0, 0.2], ids=["quick", "slow"])
@pytest.mark.parametrize("timeout", [0.05, 0.5])
def test_whoever_waits_for_work_that_another_does_once_is_back_in_time(timeout: float, pace: float) -> None:
    play(lambda session: once(session, timeout), timeout + GRACE, True, pace)


@pytest.mark.parametrize("taken", [False, True], ids=["free", "taken"])
@pytest.mark.parametrize("name", CALLS)
def test_a_time_out_of_nothing_is_a_try(name: str, taken: bool) -> None:
    play(lambda session: CALLS[name](session, 0.0), TRY + GRACE, taken, 0.2)
