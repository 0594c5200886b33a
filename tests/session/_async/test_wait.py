# Written by hand; the blocking twin under _sync is generated from it.
"""Whoever waits for a time, and not for an engine, hears of the close of its session."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from fencepost import SessionClosed
from fencepost.primitives._async.session import AsyncSession
from fencepost.testing._async.world import AsyncWorld
from fencepost.testing.contract._async.attempt import AsyncAttempt, until

pytestmark = pytest.mark.unit
TEN_HOURS = 36_000
# What a busy machine needs at most.
SOON = 20.0
Wait = Callable[[AsyncSession], Any]


async def iterate(session: AsyncSession) -> None:
    async for run in session.job("j", cron="0 0 29 2 *"):
        async with run:
            pass


async def keep(session: AsyncSession) -> None:
    run = await session.job("j", at_least=TEN_HOURS).begin(1)
    assert run is not None
    async with run:
        pass


async def pass_twice(session: AsyncSession) -> None:
    limit = session.rate_limit("r", 1, TEN_HOURS)
    await limit.acquire()
    await limit.acquire()


async def stand_unwell(session: AsyncSession) -> None:
    await session.election("e", healthy=unwell, check_every=TEN_HOURS).acquire()


async def unwell() -> bool:
    return False


@pytest.fixture
async def world() -> AsyncIterator[AsyncWorld]:
    async with AsyncWorld() as world:
        yield world


async def begin(world: AsyncWorld, session: AsyncSession, wait: Wait) -> AsyncAttempt[None]:
    """It waits, and nothing moves time."""

    async def both_sleep() -> bool:
        """The keeper of the session, and whoever waits."""
        return len(world.clock._sleepers) == 2

    attempt = AsyncAttempt(lambda: wait(session))
    await until(both_sleep)
    return attempt


@pytest.mark.parametrize("wait", [iterate, pass_twice, stand_unwell])
async def test_a_wait_for_a_time_ends_within_a_second_of_the_close(world: AsyncWorld, wait: Wait) -> None:
    async with world.connect(ttl=10 * TEN_HOURS) as session:
        attempt = await begin(world, session, wait)
        await session.close()
        await world.advance(1.1)
        with pytest.raises(SessionClosed):
            await attempt.outcome(SOON)


async def test_a_job_that_keeps_its_name_lets_go_of_it_within_a_second_of_the_close(world: AsyncWorld) -> None:
    async with world.connect(ttl=10 * TEN_HOURS) as session:
        attempt = await begin(world, session, keep)
        await session.close()
        await world.advance(1.1)
        await attempt.outcome(SOON)
