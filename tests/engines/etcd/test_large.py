"""More names and holders than one transaction of etcd has operations, of which there are 128."""

from collections.abc import Iterator

import pytest

from fencepost import Refused, Unavailable
from fencepost._runtime.threads import BootClock
from fencepost.contract.answer import Busy, Granted, Queued
from fencepost.core.claim import Ask, Claim, Mode, Request
from fencepost.core.holder import Holder
from fencepost.core.url import parse_url
from fencepost.engines.etcd._sync.engine import EtcdEngine

LASTING = 60.0
HOLDER = Holder("id", "label")
# More would not be let in together with the place that they take.
MOST = 60


@pytest.fixture
def engine(url: str) -> Iterator[EtcdEngine]:
    engine = EtcdEngine(parse_url(url), clock=BootClock(), patience=20)
    engine.lease_open(HOLDER, LASTING)
    yield engine
    engine.lease_close(HOLDER)
    engine.close()


def asked(serial: int, *numbers: int) -> Request:
    return Request(HOLDER, serial, tuple(Ask(f"n{number}") for number in numbers))


def claims(request: Request, granted: Granted) -> list[Claim]:
    return [Claim(HOLDER, request.serial, *each) for each in zip(request.asks, granted.tokens, strict=True)]


def test_queues_that_requests_for_many_names_join_are_in_nobody_s_way(engine: EtcdEngine) -> None:
    """Each request for many names shares one with the next, so that all of them decide who may have the first."""
    first = asked(1, *range(MOST))
    granted = engine.claim(first, wait=True)
    assert isinstance(granted, Granted)
    for number in (1, 2):
        start = number * (MOST - 1)
        assert isinstance(engine.claim(asked(1 + number, *range(start, start + MOST)), wait=True), Queued)
    assert isinstance(engine.claim(asked(4, 0), wait=False), Busy)
    queued = engine.claim(asked(5, 0), wait=True)
    assert isinstance(queued, Queued)
    assert [len(each) for each in (engine.look("n0").holders, engine.look("n0").waiters)] == [1, 1]
    assert [each.claim.serial for each in engine.look(f"n{2 * (MOST - 1)}").waiters] == [2, 3]
    assert all(engine.release_all(claims(first, granted)))
    assert isinstance(engine.wait(queued, LASTING), Granted)
    assert [each.claim.serial for each in engine.look(f"n{MOST}").holders] == [2]


def test_more_names_than_etcd_takes_at_once_are_refused_with_what_to_do(engine: EtcdEngine) -> None:
    request = asked(1, *range(130))
    with pytest.raises(Refused, match="ask for fewer names at once"):
        engine.claim(request, wait=True)
    with pytest.raises(Refused, match="ask for fewer names at once"):
        engine.claim(request, wait=False)
    engine.withdraw(request)
    assert isinstance(engine.claim(asked(2, 0), wait=True), Granted)


@pytest.mark.parametrize("together", [True, False], ids=["released", "withdrawn"])
def test_as_many_names_as_can_be_had_can_be_given_up(
    engine: EtcdEngine, together: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = asked(1, *range(127))
    call = engine._client.link.call

    def unheard(path: str, body: bytes) -> bytes:
        call(path, body)
        raise Unavailable("no answer")

    with monkeypatch.context() as patch:
        patch.setattr(engine._client.link, "call", unheard)
        with pytest.raises(Unavailable):
            engine.claim(request, wait=False)
    if together:
        granted = engine.claim(request, wait=False)
        assert isinstance(granted, Granted)
        assert engine.release_all(claims(request, granted)) == (True,) * 127
    else:
        engine.withdraw(request)
    assert list(engine.names("")) == []


def test_more_holders_than_a_transaction_takes_are_evicted(engine: EtcdEngine) -> None:
    for serial in range(130):
        request = Request(HOLDER, serial, (Ask("a", Mode.COUNTED, 1, 200),))
        assert isinstance(engine.claim(request, wait=True), Granted)
    assert len(engine.evict("a", "somebody")) == 130
    assert engine.look("a").holders == ()
