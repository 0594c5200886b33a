"""What was given up is settled by one at a time, by somebody in the end, and never by the keeper."""

import asyncio
import math

import pytest

from fencepost._runtime import aio as runtime
from fencepost.core.claim import Ask, Claim, Request
from fencepost.core.holder import Holder
from fencepost.core.lease import Terms
from fencepost.errors import EngineError, Refused, Unavailable
from fencepost.session._async.settlement import MOST_OF_A_NAME, AsyncSettlement
from fencepost.testing.contract._async.attempt import until

pytestmark = pytest.mark.unit

HOLDER = Holder("h", "label")
REQUEST = Request(HOLDER, 1, (Ask("a"),))
# With this lease, what is left open is asked for again after a few milliseconds.
TERMS = Terms(0.3)


class Engine:
    """Its withdrawals wait to be let through, or fail."""

    def __init__(self) -> None:
        self.withdrawn: list[str] = []
        self.released: list[str] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.failure: Exception | None = None
        self.stuck: set[str] = set()

    async def withdraw(self, request: Request) -> None:
        self.withdrawn.append(request.asks[0].name)
        await self.gate.wait()
        if request.asks[0].name in self.stuck:
            raise Unavailable("no answer")
        if self.failure is not None:
            raise self.failure

    async def release(self, claim: Claim) -> bool:
        self.released.append(claim.name)
        if self.failure is not None:
            raise self.failure
        return True


def settlement_of(engine: Engine, terms: Terms = TERMS) -> AsyncSettlement:
    return AsyncSettlement(
        engine,  # type: ignore[arg-type]
        terms,
        clock=runtime.BootClock(),
        dice=lambda: 0.5,
        over=runtime.Event(),
        name="test",
    )


def request(number: int, name: str) -> Request:
    return Request(HOLDER, number, (Ask(name),))


async def test_what_somebody_is_settling_is_not_settled_by_another_beside() -> None:
    engine = Engine()
    settlement = settlement_of(engine)
    engine.gate.clear()
    settling = asyncio.create_task(settlement.settle(REQUEST, math.inf))
    await until(lambda: _soon(bool(engine.withdrawn)))
    # Another is open, so that somebody goes round.
    await settlement.settle(request(2, "b"), 0.0)
    await until(lambda: _soon("b" in engine.withdrawn))
    assert engine.withdrawn.count("a") == 1
    engine.gate.set()
    assert await settling is None
    assert engine.withdrawn.count("a") == 1


async def test_what_was_interrupted_or_failed_is_settled_later() -> None:
    engine = Engine()
    settlement = settlement_of(engine)
    engine.gate.clear()
    settling = asyncio.create_task(settlement.settle(REQUEST, math.inf))
    await until(lambda: _soon(bool(engine.withdrawn)))
    settling.cancel()
    await asyncio.gather(settling, return_exceptions=True)
    engine.failure = Unavailable("no answer")
    engine.gate.set()
    assert isinstance(await settlement.settle(request(2, "b"), math.inf), EngineError)
    engine.failure = None
    await until(lambda: _soon(not settlement._open))
    assert {"a", "b"} <= set(engine.withdrawn)


async def test_without_time_nothing_is_asked_by_the_caller_and_it_is_settled_all_the_same() -> None:
    engine = Engine()
    settlement = settlement_of(engine)
    assert isinstance(await settlement.settle(REQUEST, runtime.BootClock.now()), Unavailable)
    assert engine.withdrawn == []
    await until(lambda: _soon(engine.withdrawn == ["a"]))


async def test_an_ask_that_is_refused_is_asked_again_for_as_long_as_a_lease_lasts() -> None:
    """A right that was taken away may be given back, and it stands in a queue meanwhile."""
    engine = Engine()
    settlement = settlement_of(engine)
    engine.failure = Refused("no right")
    assert isinstance(await settlement.settle(REQUEST, math.inf), Refused)
    await until(lambda: _soon(engine.withdrawn.count("a") >= 2))
    engine.failure = None
    asked = len(engine.withdrawn)
    await until(lambda: _soon(not settlement._open))
    assert len(engine.withdrawn) <= asked + 1
    engine.failure = Refused("no right")
    assert isinstance(await settlement.settle(REQUEST, math.inf), Refused)
    await until(lambda: _soon(not settlement._open))
    assert settlement._refused_at == {}


async def test_asks_that_are_refused_keep_nobody_from_asking_and_are_few() -> None:
    engine = Engine()
    settlement = settlement_of(engine)
    engine.failure = Refused("a key of another type")
    for number in range(300):
        assert isinstance(await settlement.settle(request(number, "a"), math.inf), Refused)
    settlement.check_room([Ask("a")])
    assert len(settlement._open) <= 100
    # A grant that can not be given back is held all the same: it is asked for again, once that may help.
    engine.failure = Refused("no space")
    await settlement.settle(Claim(HOLDER, 1000, Ask("held"), 1), math.inf)
    engine.failure = None
    await until(lambda: _soon(engine.released.count("held") >= 2))
    engine.failure = None
    await until(lambda: _soon(not settlement._open))


async def test_a_name_that_hangs_is_tried_once_a_round_and_holds_nobody_up() -> None:
    engine = Engine()
    settlement = settlement_of(engine)
    engine.stuck.add("hot")
    for number in range(5):
        await settlement.settle(request(number, "hot"), 0.0)
    await settlement.settle(request(10, "b"), 0.0)
    await until(lambda: _soon("b" in engine.withdrawn))
    assert engine.withdrawn.count("hot") <= engine.withdrawn.index("b") <= 1


async def test_of_a_name_that_is_not_answered_for_no_more_is_asked_and_others_go_on() -> None:
    engine = Engine()
    # With a lease that lasts, nothing is asked for again while the test runs.
    settlement = settlement_of(engine, Terms(36_000.0))
    for number in range(MOST_OF_A_NAME):
        settlement.check_room([Ask("hot")])
        await settlement.settle(request(number, "hot"), 0.0)
    with pytest.raises(Unavailable, match=f"{MOST_OF_A_NAME} earlier asks for 'hot'"):
        settlement.check_room([Ask("hot")])
    settlement.check_room([Ask("b")])


async def test_who_settles_outlives_the_bug_of_an_engine() -> None:
    engine = Engine()
    settlement = settlement_of(engine)
    engine.failure = ZeroDivisionError()
    await settlement.settle(REQUEST, 0.0)
    await until(lambda: _soon(len(engine.withdrawn) >= 2))
    engine.failure = None
    await until(lambda: _soon(not settlement._open))


async def _soon(condition: bool) -> bool:
    return condition


async def test_who_is_interrupted_while_it_hands_over_keeps_nobody_from_doing_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Interruption(BaseException):
        pass

    def spawn(work: object, *, name: str) -> None:
        raise Interruption

    engine = Engine()
    settlement = settlement_of(engine)
    with monkeypatch.context() as patch:
        patch.setattr(runtime, "spawn", spawn)
        with pytest.raises(Interruption):
            await settlement.settle(REQUEST, 0.0)
    await settlement.settle(request(2, "b"), 0.0)
    await until(lambda: _soon({"a", "b"} <= set(engine.withdrawn)))
