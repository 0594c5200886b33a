"""The law of deadlines to the millisecond, on a clock that stands still while anybody works."""

import asyncio
import random
from collections.abc import Awaitable, Callable

import pytest

from fencepost.core.lease import Terms
from fencepost.core.url import parse_url
from fencepost.engines.memory._async.engine import AsyncMemoryEngine
from fencepost.errors import AcquireTimeout, FencepostError, Uncertain
from fencepost.primitives._async.session import AsyncSession
from fencepost.testing import AsyncFaultyEngine
from fencepost.testing.simulation.loop import LoopClock, SimulatedLoop

pytestmark = [pytest.mark.unit, pytest.mark.usefixtures("users_patience")]
# What the law allows after the time-out.
GRACE = 0.1
Story = Callable[[AsyncSession, AsyncFaultyEngine, LoopClock], Awaitable[None]]


def play(story: Story) -> None:
    async def run() -> None:
        clock = LoopClock()
        inner = AsyncMemoryEngine(parse_url(f"memory://{random.random()}"), clock=clock, patience=1.0)
        engine = AsyncFaultyEngine(inner)
        session = AsyncSession(engine, Terms(120.0), label="hasty", clock=clock)
        other = AsyncSession(inner, Terms(120.0), label="other", clock=clock)
        try:
            async with other.lock("taken"):
                await session.keeper()
                await story(session, engine, clock)
        finally:
            engine.heal()
            await session.close()
            await other.close()

    loop = SimulatedLoop(random.Random(1))
    try:
        loop.run_until_complete(run())
    finally:
        loop.close()


@pytest.mark.parametrize("timeout", [0.05, 0.5, 3.0])
def test_an_engine_that_never_answers_costs_the_time_out_and_a_moment(timeout: float) -> None:
    async def story(session: AsyncSession, engine: AsyncFaultyEngine, clock: LoopClock) -> None:
        engine.hang("claim", "withdraw")
        began_at = clock.now()
        with pytest.raises((FencepostError, Uncertain)):
            await session.lock("free").acquire(timeout=timeout)
        assert timeout <= clock.now() - began_at <= timeout + GRACE + 1e-6

    play(story)


@pytest.mark.parametrize("timeout", [0.05, 0.5, 3.0])
@pytest.mark.parametrize("calls", [("wait", "withdraw"), ("withdraw",), ("wait", "withdraw", "look", "claim")])
def test_whoever_stands_in_line_leaves_it_in_time_though_nobody_confirms_that(
    timeout: float, calls: tuple[str, ...]
) -> None:
    async def story(session: AsyncSession, engine: AsyncFaultyEngine, clock: LoopClock) -> None:
        began_at = clock.now()
        ask = asyncio.ensure_future(session.lock("taken").acquire(timeout=timeout))
        await engine.called("wait")
        engine.hang(*calls)
        with pytest.raises(AcquireTimeout):
            await ask
        assert timeout <= clock.now() - began_at <= timeout + GRACE + 1e-6

    play(story)


def test_a_downgrade_that_is_cancelled_does_not_wait_for_the_engine() -> None:
    async def story(session: AsyncSession, engine: AsyncFaultyEngine, clock: LoopClock) -> None:
        grant = await session.rwlock("free").write().acquire()
        engine.hang("share")
        began_at = clock.now()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await session.rwlock("free").downgrade(grant)
        assert clock.now() - began_at <= 0.5 + GRACE + 1e-6
        assert grant.held

    play(story)


def test_a_try_gives_the_engine_a_second() -> None:
    async def story(session: AsyncSession, engine: AsyncFaultyEngine, clock: LoopClock) -> None:
        engine.hang("claim", "withdraw")
        began_at = clock.now()
        with pytest.raises((FencepostError, Uncertain)):
            await session.lock("free").try_acquire()
        assert clock.now() - began_at <= 1.0 + GRACE + 1e-6

    play(story)
