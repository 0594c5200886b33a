# Generated from tests/testing/_async/test_fault.py by tools/unasync.py. Do not edit: run `make gen`.
"""The engine decorated with faults: each does exactly what it says."""

import uuid

import pytest

from fencepost import Unavailable
from fencepost._runtime import threads as runtime
from fencepost.contract import registry
from fencepost.contract.answer import Granted
from fencepost.core.claim import Ask, Request
from fencepost.core.holder import Holder
from fencepost.core.url import parse_url
from fencepost.testing._sync.clock import VirtualClock
from fencepost.testing._sync.fault import FaultyEngine
from fencepost.testing.contract._sync.attempt import Attempt

pytestmark = pytest.mark.unit

HOLDER = Holder("h", "holder")
REQUEST = Request(HOLDER, 1, (Ask("a"),))


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def engine(clock: VirtualClock) -> FaultyEngine:
    url = parse_url(f"memory://{uuid.uuid4().hex}")
    return FaultyEngine(registry.engine("memory")(url, clock=clock, patience=1), clock=clock)


def held(engine: FaultyEngine) -> int:
    return len((engine.engine.look("a")).holders)


def test_without_a_fault_every_call_passes_and_is_logged(engine: FaultyEngine) -> None:
    engine.lease_open(HOLDER, 10)
    assert isinstance(engine.claim(REQUEST, wait=False), Granted)
    assert (engine.lease_renew(HOLDER, 10, [])).alive
    assert (engine.look("a")).holders[0].claim.holder == HOLDER
    assert engine.names("") == ["a"]
    assert len(engine.evict("a", "me")) == 1
    engine.withdraw(REQUEST)
    engine.lease_close(HOLDER)
    engine.close()
    assert engine.calls == [
        "lease_open", "claim", "lease_renew", "look", "names", "evict", "withdraw", "lease_close",
    ]  # fmt: skip
    assert engine.traits is engine.engine.traits


def test_a_lost_reply_is_of_a_call_that_was_performed(engine: FaultyEngine) -> None:
    engine.lease_open(HOLDER, 10)
    engine.lose_reply("claim")
    with pytest.raises(Unavailable, match="reply of claim is lost"):
        engine.claim(REQUEST, wait=False)
    assert held(engine) == 1
    assert isinstance(engine.claim(REQUEST, wait=False), Granted)


def test_a_refused_call_is_not_performed(engine: FaultyEngine) -> None:
    engine.lease_open(HOLDER, 10)
    engine.refuse("claim", times=2)
    for _ in range(2):
        with pytest.raises(Unavailable, match="claim is refused"):
            engine.claim(REQUEST, wait=False)
    assert held(engine) == 0
    assert isinstance(engine.claim(REQUEST, wait=False), Granted)


def test_a_cut_ends_every_call_until_it_heals(engine: FaultyEngine) -> None:
    engine.cut()
    with pytest.raises(Unavailable, match="cut off"):
        engine.lease_open(HOLDER, 10)
    with pytest.raises(Unavailable):
        engine.look("a")
    engine.heal()
    engine.lease_open(HOLDER, 10)


def test_an_answer_on_its_way_is_lost_in_a_cut(engine: FaultyEngine, clock: VirtualClock) -> None:
    engine.lease_open(HOLDER, 10)
    engine.delay("claim", 1)
    attempt = Attempt(lambda: engine.claim(REQUEST, wait=False))
    engine.called("claim")
    clock.advance(0.5)
    engine.cut()
    clock.advance(1)
    with pytest.raises(Unavailable, match="meanwhile"):
        attempt.outcome()
    assert held(engine) == 1


def test_a_delayed_answer_is_of_a_call_that_was_performed_at_once(
    engine: FaultyEngine, clock: VirtualClock
) -> None:
    engine.lease_open(HOLDER, 10)
    engine.delay("claim", 2)
    attempt = Attempt(lambda: engine.claim(REQUEST, wait=False))
    engine.called("claim")
    clock.advance(1)
    assert held(engine) == 1
    assert not attempt.ended.is_set()
    clock.advance(1)
    assert isinstance(attempt.outcome(), Granted)


def test_what_hangs_is_performed_when_it_heals(engine: FaultyEngine, clock: VirtualClock) -> None:
    engine.lease_open(HOLDER, 10)
    engine.hang("claim")
    attempt = Attempt(lambda: engine.claim(REQUEST, wait=False))
    engine.called("claim")
    assert engine.look("a")
    clock.advance(5)
    assert held(engine) == 0
    engine.heal()
    assert isinstance(attempt.outcome(), Granted)


def test_waiting_for_a_call_that_is_not_made_ends(engine: FaultyEngine) -> None:
    with pytest.raises(TimeoutError, match=r"lease_renew was not called 1 times within 0\.01 s"):
        engine.called("lease_renew", timeout=0.01)


def test_yielding_lets_others_run_before_and_after_a_call(
    engine: FaultyEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = []
    sleep = runtime.sleep

    def counted(seconds: float) -> None:
        turns.append(len(engine.engine.names("")))
        sleep(seconds)

    engine.lease_open(HOLDER, 10)
    monkeypatch.setattr(runtime, "sleep", counted)
    engine.yielding = True
    engine.claim(REQUEST, wait=False)
    # Nothing was held at the point before, and one name at the point after.
    assert turns == [0, 1]


def test_a_misspelt_method_is_an_error(engine: FaultyEngine) -> None:
    with pytest.raises(ValueError, match="unknown engine method 'clame'"):
        engine.lose_reply("clame")
