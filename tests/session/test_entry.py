"""Entering a session: whoever is interrupted on the way leaves nothing open."""

import asyncio

import pytest

from fencepost import SessionClosed
from fencepost._runtime import aio as runtime
from fencepost.core.lease import Terms
from fencepost.core.url import parse_url
from fencepost.engines.memory._async.engine import AsyncMemoryEngine
from fencepost.primitives._async.session import AsyncSession
from fencepost.testing import AsyncFaultyEngine

pytestmark = pytest.mark.unit


async def test_a_session_cancelled_while_it_is_entered_is_closed() -> None:
    closed = []

    class Engine(AsyncMemoryEngine):
        async def close(self) -> None:
            closed.append(self)
            await super().close()

    clock = runtime.BootClock()
    engine = AsyncFaultyEngine(Engine(parse_url("memory://entry"), clock=clock, patience=1.0))
    session = AsyncSession(engine, Terms(10.0, 0.0), label="entering", clock=clock)
    engine.delay("lease_open", 60.0)
    entering = asyncio.create_task(session.__aenter__())
    await engine.called("lease_open")
    entering.cancel()
    with pytest.raises(asyncio.CancelledError):
        await entering
    assert closed
    assert engine.calls[-1] == "lease_close"
    with pytest.raises(SessionClosed):
        await session.lock("a").acquire()
