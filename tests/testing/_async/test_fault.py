# Written by hand; the blocking twin under _sync is generated from it.
"""The engine decorated with faults: each does exactly what it says."""

import uuid

import pytest

from fencepost import Unavailable
from fencepost._runtime import aio as runtime
from fencepost.contract import registry
from fencepost.contract.answer import Granted
from fencepost.core.claim import Ask, Request
from fencepost.core.holder import Holder
from fencepost.core.url import parse_url
from fencepost.testing._async.clock import AsyncVirtualClock
from fencepost.testing._async.fault import AsyncFaultyEngine
from fencepost.testing.contract._async.attempt import AsyncAttempt

pytestmark = pytest.mark.unit

HOLDER = Holder("h", "holder")
REQUEST = Request(HOLDER, 1, (Ask("a"),))


@pytest.fixture
def clock() -> AsyncVirtualClock:
    return AsyncVirtualClock()


@pytest.fixture
def engine(clock: AsyncVirtualClock) -> AsyncFaultyEngine:
    url = parse_url(f"memory://{uuid.uuid4().hex}")
    return AsyncFaultyEngine(registry.async_engine("memory")(url, clock=clock, patience=1), clock=clock)


async def held(engine: AsyncFaultyEngine) -> int:
    return len((await engine.engine.look("a")).holders)


async def test_without_a_fault_every_call_passes_and_is_logged(engine: AsyncFaultyEngine) -> None:
    await engine.lease_open(HOLDER, 10)
    assert isinstance(await engine.claim(REQUEST, wait=False), Granted)
    assert (await engine.lease_renew(HOLDER, 10, [])).alive
    assert (await engine.look("a")).holders[0].claim.holder == HOLDER
    assert await engine.names("") == ["a"]
    assert len(await engine.evict("a", "me")) == 1
    await engine.withdraw(REQUEST)
    await engine.lease_close(HOLDER)
    await engine.close()
    assert engine.calls == [
        "lease_open", "claim", "lease_renew", "look", "names", "evict", "withdraw", "lease_close",
    ]  # fmt: skip
    assert engine.traits is engine.engine.traits


async def test_a_lost_reply_is_of_a_call_that_was_performed(engine: AsyncFaultyEngine) -> None:
    await engine.lease_open(HOLDER, 10)
    engine.lose_reply("claim")
    with pytest.raises(Unavailable, match="reply of claim is lost"):
        await engine.claim(REQUEST, wait=False)
    assert await held(engine) == 1
    assert isinstance(await engine.claim(REQUEST, wait=False), Granted)


async def test_a_refused_call_is_not_performed(engine: AsyncFaultyEngine) -> None:
    await engine.lease_open(HOLDER, 10)
    engine.refuse("claim", times=2)
    for _ in range(2):
        with pytest.raises(Unavailable, match="claim is refused"):
            await engine.claim(REQUEST, wait=False)
    assert await held(engine) == 0
    assert isinstance(await engine.claim(REQUEST, wait=False), Granted)


async def test_a_cut_ends_every_call_until_it_heals(engine: AsyncFaultyEngine) -> None:
    engine.cut()
    with pytest.raises(Unavailable, match="cut off"):
        await engine.lease_open(HOLDER, 10)
    with pytest.raises(Unavailable):
        await engine.look("a")
    engine.heal()
    await engine.lease_open(HOLDER, 10)


async def test_an_answer_on_its_way_is_lost_in_a_cut(engine: AsyncFaultyEngine, clock: AsyncVirtualClock) -> None:
    await engine.lease_open(HOLDER, 10)
    engine.delay("claim", 1)
    attempt = AsyncAttempt(lambda: engine.claim(REQUEST, wait=False))
    await engine.called("claim")
    await clock.advance(0.5)
    engine.cut()
    await clock.advance(1)
    with pytest.raises(Unavailable, match="meanwhile"):
        await attempt.outcome()
    assert await held(engine) == 1


async def test_a_delayed_answer_is_of_a_call_that_was_performed_at_once(
    engine: AsyncFaultyEngine, clock: AsyncVirtualClock
) -> None:
    await engine.lease_open(HOLDER, 10)
    engine.delay("claim", 2)
    attempt = AsyncAttempt(lambda: engine.claim(REQUEST, wait=False))
    await engine.called("claim")
    await clock.advance(1)
    assert await held(engine) == 1
    assert not attempt.ended.is_set()
    await clock.advance(1)
    assert isinstance(await attempt.outcome(), Granted)


async def test_what_hangs_is_performed_when_it_heals(engine: AsyncFaultyEngine, clock: AsyncVirtualClock) -> None:
    await engine.lease_open(HOLDER, 10)
    engine.hang("claim")
    attempt = AsyncAttempt(lambda: engine.claim(REQUEST, wait=False))
    await engine.called("claim")
    assert await engine.look("a")
    await clock.advance(5)
    assert await held(engine) == 0
    engine.heal()
    assert isinstance(await attempt.outcome(), Granted)


async def test_waiting_for_a_call_that_is_not_made_ends(engine: AsyncFaultyEngine) -> None:
    with pytest.raises(TimeoutError, match=r"lease_renew was not called 1 times within 0\.01 s"):
        await engine.called("lease_renew", timeout=0.01)


async def test_yielding_lets_others_run_before_and_after_a_call(
    engine: AsyncFaultyEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = []
    sleep = runtime.sleep

    async def counted(seconds: float) -> None:
        turns.append(len(await engine.engine.names("")))
        await sleep(seconds)

    await engine.lease_open(HOLDER, 10)
    monkeypatch.setattr(runtime, "sleep", counted)
    engine.yielding = True
    await engine.claim(REQUEST, wait=False)
    # Nothing was held at the point before, and one name at the point after.
    assert turns == [0, 1]


async def test_a_misspelt_method_is_an_error(engine: AsyncFaultyEngine) -> None:
    with pytest.raises(ValueError, match="unknown engine method 'clame'"):
        engine.lose_reply("clame")
