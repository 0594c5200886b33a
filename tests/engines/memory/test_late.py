"""What comes late to the engine in memory, or twice, has no effect."""

import uuid
from typing import Any

import pytest

from fencepost._runtime.threads import BootClock
from fencepost.contract import registry
from fencepost.contract.answer import Busy, Granted, Queued
from fencepost.core.claim import Ask, Claim, Request
from fencepost.core.holder import Holder
from fencepost.core.url import parse_url
from tests.support.claim import GrantedClaim

pytestmark = pytest.mark.unit

ONE, OTHER = Holder("1", "one"), Holder("2", "other")
FIRST, SECOND = Request(ONE, 1, (Ask("a"),)), Request(ONE, 2, (Ask("a"),))


@pytest.fixture
def engine() -> Any:
    url = parse_url(f"memory://{uuid.uuid4().hex}")
    engine = registry.engine("memory")(url, clock=BootClock(), patience=5.0)
    for holder in (ONE, OTHER):
        engine.lease_open(holder, 600.0)
    return engine


def granted(engine: Any, request: Request) -> GrantedClaim:
    answer = engine.claim(request, wait=True)
    assert isinstance(answer, Granted)
    return GrantedClaim(request.holder, request.serial, request.asks[0], answer.tokens[0])


def assert_free(engine: Any) -> None:
    snapshot = engine.look("a")
    assert (snapshot.holders, snapshot.waiters) == ((), ())


@pytest.mark.parametrize("wait", [True, False])
def test_a_claim_that_comes_after_its_withdrawal_takes_nothing(engine: Any, wait: bool) -> None:
    engine.withdraw(FIRST)
    engine.claim(FIRST, wait=wait)
    assert_free(engine)


@pytest.mark.parametrize("wait", [True, False])
def test_a_claim_that_comes_again_after_its_withdrawal_takes_nothing(engine: Any, wait: bool) -> None:
    granted(engine, FIRST)
    engine.withdraw(FIRST)
    engine.claim(FIRST, wait=wait)
    assert_free(engine)


@pytest.mark.parametrize("wait", [True, False])
def test_a_claim_that_comes_again_after_its_release_takes_nothing(engine: Any, wait: bool) -> None:
    assert engine.release(granted(engine, FIRST))
    engine.claim(FIRST, wait=wait)
    assert_free(engine)


@pytest.mark.parametrize("wait", [True, False])
def test_a_claim_of_several_that_comes_again_after_one_was_given_back_takes_nothing(engine: Any, wait: bool) -> None:
    both = Request(ONE, 1, (Ask("a"), Ask("b")))
    tokens = engine.claim(both, wait=True).tokens
    first, second = (Claim(ONE, 1, ask, token) for ask, token in zip(both.asks, tokens, strict=True))
    assert engine.release(first)
    engine.claim(both, wait=wait)
    assert_free(engine)
    assert engine.release(second)
    assert engine.names("") == []


def test_a_refused_claim_that_comes_again_takes_nothing(engine: Any) -> None:
    held = granted(engine, Request(OTHER, 1, (Ask("a"),)))
    refused = engine.claim(FIRST, wait=False)
    assert isinstance(refused, Busy)
    assert engine.claim(FIRST, wait=False) == refused
    engine.release(held)
    engine.claim(FIRST, wait=False)
    assert_free(engine)


def test_a_claim_that_was_overtaken_by_a_later_one_is_granted(engine: Any) -> None:
    later = granted(engine, SECOND)
    assert isinstance(engine.claim(FIRST, wait=True), Queued)
    engine.release(later)
    assert granted(engine, FIRST).token > later.token


def test_a_lease_that_is_opened_again_keeps_what_it_has(engine: Any) -> None:
    held = granted(engine, FIRST)
    engine.lease_open(ONE, 600.0)
    assert [each.claim for each in engine.look("a").holders] == [held]
    assert engine.release(held)
    assert_free(engine)


def test_what_was_evicted_unheard_may_be_asked_for_again_until_it_is_given_back(engine: Any) -> None:
    held = granted(engine, FIRST)
    engine.evict("a", "operator")
    again = granted(engine, FIRST)
    assert again.token > held.token
    engine.evict("a", "operator")
    assert not engine.release(again)
    engine.claim(FIRST, wait=True)
    assert_free(engine)


def test_a_session_that_comes_and_goes_for_ever_takes_no_room(engine: Any) -> None:
    granted(engine, FIRST)
    for serial in range(2, 1000):
        request = Request(ONE, serial, (Ask("b"),))
        engine.release(granted(engine, request))
    lease = engine._book._leases[ONE.id]
    assert len(lease.entries) + len(lease.to_come) == 1
