"""What was given up is settled by one at a time, and by somebody in the end."""

import asyncio

import pytest

from fencepost.core.claim import Ask, Request
from fencepost.core.holder import Holder
from fencepost.errors import EngineError, Unavailable
from fencepost.session._async.settlement import AsyncSettlement

pytestmark = pytest.mark.unit

REQUEST = Request(Holder("h", "label"), 1, (Ask("a"),))


class SlowEngine:
    """Its withdrawals wait to be let through, or fail."""

    def __init__(self) -> None:
        self.calls = 0
        self.gate = asyncio.Event()
        self.fails = False

    async def withdraw(self, request: Request) -> None:
        self.calls += 1
        await self.gate.wait()
        if self.fails:
            raise Unavailable("no answer")


async def test_what_somebody_is_settling_is_not_settled_by_another_beside() -> None:
    engine = SlowEngine()
    settlement = AsyncSettlement(engine)  # type: ignore[arg-type]
    settling = asyncio.create_task(settlement.settle(REQUEST))
    await asyncio.sleep(0)
    await asyncio.wait_for(settlement.settle_all(), 20)
    assert engine.calls == 1
    engine.gate.set()
    assert await settling is None
    await settlement.settle_all()
    assert engine.calls == 1


async def test_what_was_interrupted_or_failed_is_settled_later() -> None:
    engine = SlowEngine()
    settlement = AsyncSettlement(engine)  # type: ignore[arg-type]
    settling = asyncio.create_task(settlement.settle(REQUEST))
    await asyncio.sleep(0)
    settling.cancel()
    await asyncio.gather(settling, return_exceptions=True)
    engine.fails = True
    engine.gate.set()
    assert isinstance(await settlement.settle(REQUEST), EngineError)
    engine.fails = False
    await settlement.settle_all()
    assert engine.calls == 3
