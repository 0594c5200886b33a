"""More names and holders than one transaction of Consul has operations, of which there are 128."""

import pytest

from fencepost import Refused
from fencepost.contract.answer import Busy, Granted, Queued
from fencepost.core.claim import Ask, Claim, Mode, Request
from fencepost.core.holder import Holder

from .conftest import LASTING, Connect

MOST = {Mode.EXCLUSIVE: 32, Mode.SHARED: 25}


def asked(holder: Holder, serial: int, *numbers: int, mode: Mode = Mode.EXCLUSIVE) -> Request:
    return Request(holder, serial, tuple(Ask(f"n{number}", mode) for number in numbers))


def claims(request: Request, granted: Granted) -> list[Claim]:
    return [Claim(request.holder, request.serial, *each) for each in zip(request.asks, granted.tokens, strict=True)]


def test_queues_that_requests_for_many_names_join_are_in_nobody_s_way(connect: Connect) -> None:
    """Each request for many names shares one with the next, so that all of them decide who may have the first."""
    engine, holder = connect("one")
    first = asked(holder, 1, *range(30))
    granted = engine.claim(first, wait=True)
    assert isinstance(granted, Granted)
    for number in range(1, 5):
        further = asked(holder, 1 + number, *range(number * 29, number * 29 + 30))
        assert isinstance(engine.claim(further, wait=True), Queued)
    assert isinstance(engine.claim(asked(holder, 6, 0), wait=False), Busy)
    queued = engine.claim(asked(holder, 7, 0), wait=True)
    assert isinstance(queued, Queued)
    snapshot = engine.look("n0")
    assert [each.claim.serial for each in (*snapshot.holders, *snapshot.waiters)] == [1, 7]
    assert engine.release_all(claims(first, granted)) == (True,) * 30
    assert isinstance(engine.wait(queued, LASTING), Granted)
    assert [each.claim.serial for each in engine.look("n30").holders] == [2]


@pytest.mark.parametrize("mode", MOST)
def test_as_many_names_as_are_let_in_can_be_waited_for(connect: Connect, mode: Mode) -> None:
    (engine, holder), (other, another) = connect("one"), connect("other")
    first = asked(holder, 1, *range(MOST[mode]))
    granted = engine.claim(first, wait=True)
    assert isinstance(granted, Granted)
    queued = other.claim(asked(another, 1, *range(MOST[mode]), mode=mode), wait=True)
    assert isinstance(queued, Queued)
    engine.release_all(claims(first, granted))
    assert isinstance(other.wait(queued, LASTING), Granted)


@pytest.mark.parametrize("mode", MOST)
def test_more_names_than_can_be_granted_at_once_are_refused_with_what_to_do(connect: Connect, mode: Mode) -> None:
    engine, holder = connect("one")
    request = asked(holder, 1, *range(MOST[mode] + 1), mode=mode)
    for wait in (True, False):
        with pytest.raises(Refused, match="32 to hold alone, 25 to share"):
            engine.claim(request, wait=wait)
    engine.withdraw(request)
    assert isinstance(engine.claim(asked(holder, 2, 0), wait=True), Granted)


def test_more_holders_than_a_transaction_takes_are_evicted_and_nobody_who_comes_after_them(connect: Connect) -> None:
    (engine, holder), (other, another) = connect("one"), connect("other")
    asks = (Ask("a", Mode.COUNTED, 1, 60),)
    for serial in range(60):
        assert isinstance(engine.claim(Request(holder, serial, asks), wait=True), Granted)
    queued = other.claim(Request(another, 1, asks), wait=True)
    assert isinstance(queued, Queued)
    assert [claim.serial for claim in other.evict("a", "somebody")] == list(range(60))
    assert [each.claim.holder.label for each in engine.look("a").holders] == ["other"]
