"""An engine that does not answer, met by whoever is in a hurry."""

import asyncio

import pytest

from fencepost._runtime import aio as runtime
from fencepost._runtime.clock import boottime
from fencepost.core.lease import Terms
from fencepost.core.limit import limits
from fencepost.core.url import parse_url
from fencepost.engines.memory._async.engine import AsyncMemoryEngine
from fencepost.errors import Unavailable
from fencepost.primitives._async.session import AsyncSession
from fencepost.testing import AsyncFaultyEngine
from fencepost.testing.contract._async.attempt import until

pytestmark = [pytest.mark.unit, pytest.mark.usefixtures("users_patience")]
SOON = 20.0


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> AsyncFaultyEngine:
    clock = runtime.BootClock()
    return AsyncFaultyEngine(AsyncMemoryEngine(parse_url(f"memory://{request.node.name}"), clock=clock, patience=1.0))


@pytest.fixture
def session(engine: AsyncFaultyEngine) -> AsyncSession:
    return AsyncSession(engine, Terms(120.0), label="hasty", clock=runtime.BootClock())


def test_users_wait_a_second_for_an_answer_and_a_moment_after_an_interruption() -> None:
    assert limits(Terms(10.0))._replace(call=0.0) == (0.0, 1.0, 0.1, 1.0)
    assert limits(Terms(60.0)) == (5.0, 1.0, 0.1, 6.0)


async def test_a_cancelled_ask_does_not_wait_for_the_engine_and_is_settled(
    session: AsyncSession, engine: AsyncFaultyEngine
) -> None:
    async with session:
        engine.hang("claim", "withdraw")
        began_at = boottime()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await session.lock("a").acquire()
        assert boottime() - began_at < SOON
        engine.heal()

        async def settled() -> bool:
            return not (await session.keeper()).settlement._open

        await until(settled)
        assert (await session.look("a")).holders == ()


async def test_a_cancelled_release_does_not_wait_for_the_engine_and_is_settled(
    session: AsyncSession, engine: AsyncFaultyEngine
) -> None:
    async with session:
        grant = await session.lock("a").acquire()
        engine.hang("release")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await grant.release()
        engine.heal()

        async def free() -> bool:
            return not (await session.look("a")).holders

        await until(free)


async def test_closing_is_over_soon(session: AsyncSession, engine: AsyncFaultyEngine) -> None:
    session.limits = session.limits._replace(close=0.1)
    await session.lock("a").acquire()
    engine.hang()
    await asyncio.wait_for(session.close(), SOON)


async def test_who_comes_while_another_opens_the_lease_waits_no_longer_than_it_wants(
    session: AsyncSession, engine: AsyncFaultyEngine
) -> None:
    session.limits = session.limits._replace(answer=0.1)
    engine.hang("lease_open")
    first = asyncio.create_task(session.lock("a").acquire())
    await engine.called("lease_open")
    with pytest.raises(Unavailable):
        await asyncio.wait_for(session.lock("b").acquire(timeout=0.1), SOON)
    engine.heal()
    await (await first).release()
    assert engine.calls.count("lease_open") == 1
    await session.close()


async def test_a_session_closed_while_its_lease_is_opened_opens_none(
    session: AsyncSession, engine: AsyncFaultyEngine
) -> None:
    session.limits = session.limits._replace(close=0.1)
    engine.hang("lease_open", "lease_close")
    opening = asyncio.create_task(session.lock("a").acquire())
    await engine.called("lease_open")
    await asyncio.wait_for(session.close(), SOON)
    engine.heal()
    with pytest.raises(Exception, match="closed"):
        await asyncio.wait_for(opening, SOON)
    assert engine.calls[-1] == "lease_close"
