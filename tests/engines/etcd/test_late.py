"""Requests that are held up on their way to etcd, and arrive after what was sent behind them."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

import pytest

from fencepost import Unavailable
from fencepost._runtime.threads import BootClock
from fencepost.contract.answer import Busy, Gone, Granted
from fencepost.core.claim import Ask, Claim, Mode, Request
from fencepost.core.holder import Holder
from fencepost.core.url import parse_url
from fencepost.drivers.etcd.protobuf import number
from fencepost.drivers.etcd.request import delete, put, select, transaction
from fencepost.engines.etcd._sync.engine import EtcdEngine
from fencepost.testing.etcd import client

LASTING = 60.0
ACTIVATE, DEACTIVATE = 1, 2
Full = Callable[[], AbstractContextManager[None]]


class Place:
    """An engine with a lease, and the way from it to etcd. What is kept there is not answered, and arrives when it is
    delivered."""

    def __init__(self, url: str, label: str) -> None:
        self.engine = EtcdEngine(parse_url(url), clock=BootClock(), patience=20)
        self.holder = Holder(f"id-of-{label}", label)
        self.engine.lease_open(self.holder, LASTING)
        link: Any = self.engine._client.link
        self._send, link.call = link.call, self._pass
        self._keeps = False
        self._kept: list[tuple[str, bytes]] = []

    def close(self) -> None:
        self.engine.lease_close(self.holder)
        self.engine.close()

    def asked(self, serial: int, *names: str, mode: Mode = Mode.EXCLUSIVE) -> Request:
        return Request(self.holder, serial, tuple(Ask(name, mode) for name in names))

    def claim(self, request: Request) -> Claim:
        answer = self.engine.claim(request, wait=True)
        assert isinstance(answer, Granted)
        return Claim(request.holder, request.serial, request.asks[0], answer.tokens[0])

    def send_late(self, request: Request) -> None:
        """What this claim sends next."""
        self._keeps = True
        with pytest.raises(Unavailable):
            self.engine.claim(request, wait=True)

    def deliver(self, *, again: bool = False) -> None:
        """With `again` it is delivered once more later."""
        assert self._kept
        kept = list(self._kept)
        if not again:
            self._kept.clear()
        for each in kept:
            self._send(*each)

    def holders(self, name: str = "a") -> list[tuple[str, int]]:
        return [(each.claim.holder.label, each.claim.serial) for each in self.engine.look(name).holders]

    def _pass(self, path: str, body: bytes) -> bytes:
        # Of a claim that was sent before, how it stands is read first.
        if self._keeps and not (path.endswith("/Txn") and self._reads(body)):
            self._keeps = False
            self._kept.append((path, body))
            raise Unavailable("held up")
        answered: bytes = self._send(path, body)
        return answered

    def _reads(self, body: bytes) -> bool:
        """Whether it only reads: it says nothing of who asks."""
        return (
            self.holder.id.encode() not in body and f"{self.engine._leases[self.holder.id].id:x}".encode() not in body
        )


@pytest.fixture
def places(url: str) -> Iterator[Any]:
    with ExitStack() as stack:

        def made(label: str) -> Place:
            place = Place(url, label)
            stack.callback(place.close)
            return place

        yield made


def test_a_claim_that_arrives_after_its_grant_was_released_is_not_granted(places: Any) -> None:
    one = places("one")
    request = one.asked(1, "a")
    one.send_late(request)
    assert one.engine.release(one.claim(request))
    one.deliver()
    assert one.holders() == []


def test_a_claim_that_arrives_after_all_of_its_grants_were_released_is_not_granted(places: Any) -> None:
    one = places("one")
    request = one.asked(1, "a", "b")
    one.send_late(request)
    first = one.claim(request)
    assert one.engine.release_all([first, first._replace(ask=request.asks[1])]) == (True, True)
    one.deliver()
    assert one.holders() == one.holders("b") == []


def test_a_claim_that_arrives_after_its_grant_was_evicted_and_released_is_not_granted(places: Any) -> None:
    one = places("one")
    request = one.asked(1, "a")
    one.send_late(request)
    claim = one.claim(request)
    one.engine.evict("a", "somebody")
    assert not one.engine.release(claim)
    one.deliver()
    assert one.holders() == []


def test_a_claim_that_arrives_after_a_renewal_told_of_its_end_is_not_granted(places: Any) -> None:
    one = places("one")
    request = one.asked(1, "a")
    one.send_late(request)
    claim = one.claim(request)
    one.engine.evict("a", "somebody")
    assert [serial for serial, _, _ in one.engine.lease_renew(one.holder, LASTING, [claim]).gone] == [1]
    one.deliver()
    assert one.holders() == []


def test_a_claim_that_arrives_after_the_request_was_told_busy_is_not_granted(places: Any) -> None:
    one, other = places("one"), places("other")
    held = other.claim(other.asked(1, "a"))
    request = one.asked(1, "a")
    one.send_late(request)
    assert isinstance(one.engine.claim(request, wait=False), Busy)
    assert other.engine.release(held)
    one.deliver()
    assert other.holders() == []


def test_what_was_left_of_an_evicted_request_is_not_removed_late_from_the_same_request_asked_again(
    places: Any,
) -> None:
    one = places("one")
    request = one.asked(1, "a", "b")
    one.claim(request)
    one.engine.evict("a", "somebody")
    # It is asked again, as it was never told, and what removes the rest of it is held up.
    one.send_late(request)
    claim = one.claim(request)
    one.deliver()
    both = [claim, claim._replace(ask=request.asks[1])]
    assert one.engine.lease_renew(one.holder, LASTING, both).gone == ()
    assert one.holders() == one.holders("b") == [("one", 1)]


def test_a_claim_that_arrives_after_its_request_was_evicted_and_asked_again_takes_no_second_place(places: Any) -> None:
    one = places("one")
    other, request = (one.asked(serial, "a", mode=Mode.SHARED) for serial in (1, 2))
    one.claim(other)
    one.send_late(request)
    one.claim(request)
    one.engine.evict("a", "somebody")
    one.engine.withdraw(other)
    claim = one.claim(request)
    one.deliver()
    assert one.engine.release(claim)
    assert one.holders() == []


def test_a_claim_that_arrives_after_its_grant_was_evicted_hides_no_loss_and_keeps_nothing(places: Any) -> None:
    one, other = places("one"), places("other")
    request = one.asked(1, "a")
    one.send_late(request)
    claim = one.claim(request)
    one.engine.evict("a", "somebody")
    # Another had it meanwhile.
    assert other.engine.release(other.claim(other.asked(1, "a")))
    one.deliver()
    assert one.engine.lease_renew(one.holder, LASTING, [claim]).gone == ((1, "a", "evicted by somebody"),)
    assert other.holders() == []


def test_a_claim_that_arrives_after_its_grants_were_evicted_hides_no_loss_of_any_name(places: Any) -> None:
    one = places("one")
    request = one.asked(1, "a", "b")
    one.send_late(request)
    first = one.claim(request)
    for name in "ab":
        one.engine.evict(name, "somebody")
    one.deliver()
    both = [first, first._replace(ask=request.asks[1])]
    gone = one.engine.lease_renew(one.holder, LASTING, both).gone
    assert [name for _, name, _ in gone] == ["a", "b"]
    assert one.holders() == one.holders("b") == []


@pytest.mark.parametrize("together", [False, True], ids=["one by one", "together"])
def test_a_claim_that_arrives_between_the_eviction_of_its_grant_and_the_release_keeps_nothing(
    places: Any, together: bool
) -> None:
    one = places("one")
    request = one.asked(1, "a", "b")
    one.send_late(request)
    first = one.claim(request)
    both = [first, first._replace(ask=request.asks[1])]
    for name in "ab":
        one.engine.evict(name, "somebody")
    one.deliver()
    told = one.engine.release_all(both) if together else tuple(map(one.engine.release, both))
    assert told == (False, False)
    assert one.holders() == one.holders("b") == []


def test_a_claim_that_arrives_after_somebody_else_made_its_key_takes_no_second_place(places: Any, url: str) -> None:
    one = places("one")
    request = one.asked(1, "a")
    one.send_late(request)
    lease = one.engine._leases[one.holder.id].id
    speaker = client(url=url)
    speaker.commit(transaction([], [put(b"a/%x" % lease, b"note")]))
    claim = one.claim(request)
    speaker.commit(transaction([], [delete(b"a/%x" % lease)]))
    speaker.close()
    one.deliver()
    assert one.engine.release(claim)
    assert one.holders() == []


# What was on its way when another request was given up


def during_the_next_call(place: Place, what: Callable[[], object]) -> None:
    """Have it done when the place has said what it says next, and before that arrives."""
    link: Any = place.engine._client.link
    send = link.call

    def call(path: str, body: bytes) -> bytes:
        link.call = send
        what()
        answered: bytes = send(path, body)
        return answered

    link.call = call


@pytest.mark.parametrize("answered", [True, False])
@pytest.mark.parametrize("wait", [True, False])
@pytest.mark.parametrize("mode", [Mode.EXCLUSIVE, Mode.SHARED])
def test_a_claim_that_was_on_its_way_when_another_was_given_up_is_granted_all_the_same(
    places: Any, monkeypatch: pytest.MonkeyPatch, mode: Mode, *, wait: bool, answered: bool
) -> None:
    one, other = places("one"), places("other")
    if mode is Mode.SHARED:
        other.claim(other.asked(1, "b", mode=mode))
    given_up = one.asked(1, "a")
    one.send_late(given_up)

    def give_up() -> None:
        commit = one.engine._client.commit

        def unheard(words: bytes) -> None:
            commit(words)
            raise Unavailable("no answer")

        if answered:
            one.engine.withdraw(given_up)
            return
        with monkeypatch.context() as patch, pytest.raises(Unavailable):
            patch.setattr(one.engine._client, "commit", unheard)
            one.engine.withdraw(given_up)

    during_the_next_call(one, give_up)
    assert isinstance(one.engine.claim(one.asked(2, "b", mode=mode), wait=wait), Granted)
    one.deliver()
    assert one.holders() == []
    assert ("one", 2) in one.holders("b")
    # And so is what comes after it.
    assert isinstance(one.engine.claim(one.asked(3, "c"), wait=wait), Granted)


@pytest.mark.parametrize("wait", [True, False])
def test_a_claim_that_was_on_its_way_when_it_was_given_up_itself_is_not_sent_again(places: Any, *, wait: bool) -> None:
    one = places("one")
    request = one.asked(1, "a")
    during_the_next_call(one, lambda: one.engine.withdraw(request))
    assert isinstance(one.engine.claim(request, wait=wait), Gone)
    assert one.holders() == []


def test_however_many_requests_are_given_up_unanswered_one_mark_is_kept_of_them(places: Any, url: str) -> None:
    one = places("one")
    for serial in range(1, 6):
        request = one.asked(serial, "a")
        one.send_late(request)
        one.engine.withdraw(request)
    one.deliver()
    assert one.holders() == []
    speaker = client(url=url)
    found = speaker.read(select(b"\0", b"\0", keys_only=True))
    speaker.close()
    assert len(found.pairs) == 1


# etcd that is full, which deletes and takes nothing new


@pytest.fixture
def full(url: str) -> Iterator[Full]:
    speaker = client(url=url)

    def alarm(action: int) -> None:
        # Of the alarms, NOSPACE is the first.
        speaker.link.call("/etcdserverpb.Maintenance/Alarm", number(1, action) + number(2, 1) + number(3, 1))

    @contextmanager
    def made_full() -> Iterator[None]:
        alarm(ACTIVATE)
        try:
            yield
        finally:
            alarm(DEACTIVATE)

    yield made_full
    speaker.close()


def test_a_request_that_may_have_arrived_is_given_up_also_while_etcd_is_full(places: Any, full: Full) -> None:
    one = places("one")
    request = one.asked(1, "a")
    one.send_late(request)
    one.deliver(again=True)
    assert one.holders() == [("one", 1)]
    with full():
        with pytest.raises(Unavailable, match="space exceeded"):
            one.engine.withdraw(request)
        assert one.holders() == []
    # It is asked again, as nobody knows yet whether more arrives.
    one.engine.withdraw(request)
    one.deliver()
    assert one.holders() == []


@pytest.mark.parametrize("together", [False, True], ids=["one by one", "together"])
def test_what_is_held_is_released_also_while_etcd_is_full(places: Any, full: Full, together: bool) -> None:
    one = places("one")
    request = one.asked(1, "a")
    one.send_late(request)
    claim = one.claim(request)
    release: Callable[[], Any] = (
        (lambda: one.engine.release_all([claim])) if together else (lambda: one.engine.release(claim))
    )
    with full():
        with pytest.raises(Unavailable, match="space exceeded"):
            release()
        assert one.holders() == []
    assert not any(release() if together else [release()])
    one.deliver()
    assert one.holders() == []


def test_a_renewal_tells_of_a_loss_also_while_etcd_is_full(places: Any, full: Full) -> None:
    one = places("one")
    request = one.asked(1, "a")
    one.send_late(request)
    claim = one.claim(request)
    one.engine.evict("a", "somebody")
    with full():
        renewal = one.engine.lease_renew(one.holder, LASTING, [claim])
    assert renewal.alive
    assert [serial for serial, _, _ in renewal.gone] == [1]
    assert not one.engine.release(claim)
    one.deliver()
    assert one.holders() == []
