"""Requests that are held up on their way to the agent, and arrive after what was sent behind them."""

from collections.abc import Callable
from typing import Any

import pytest

from fencepost import Unavailable
from fencepost.contract.answer import Busy, Granted, Queued
from fencepost.core.claim import Ask, Claim, Mode, Request
from fencepost.core.holder import Holder
from fencepost.engines.consul._sync.engine import ConsulEngine
from fencepost.testing.consul import Agent

from .conftest import LASTING, Connect
from .test_fault import session_of


class Post:
    """The way from an engine to the agent. What it keeps is not answered, and arrives when it is delivered."""

    def __init__(self, engine: ConsulEngine) -> None:
        self._link: Any = engine._store._link
        self._send = self._link.call
        self._link.call = self._pass  # type: ignore[method-assign]
        self._kept: list[bytes] = []
        self._keeps: Callable[[bytes], bool] = lambda request: False
        self._before: Callable[[], object] | None = None

    def keep_next(self, *, with_text: bytes = b"") -> None:
        self._keeps = lambda request: with_text in request

    def before_next(self, work: Callable[[], object]) -> None:
        """Do this while the next request is on its way."""
        self._before = work

    def deliver(self) -> None:
        """Whatever comes of it, nobody hears."""
        assert self._kept
        while self._kept:
            self._send(self._kept.pop(0))

    def _pass(self, request: bytes) -> Any:
        if self._keeps(request):
            self._keeps = lambda request: False
            self._kept.append(request)
            raise Unavailable("held up")
        before, self._before = self._before, None
        if before is not None:
            before()
        return self._send(request)


def asked(holder: Holder, serial: int, *names: str, mode: Mode = Mode.EXCLUSIVE) -> Request:
    return Request(holder, serial, tuple(Ask(name, mode) for name in names))


def claim_of(request: Request, answer: object, name: str = "a") -> Claim:
    assert isinstance(answer, Granted)
    (found,) = [(ask, token) for ask, token in zip(request.asks, answer.tokens, strict=True) if ask.name == name]
    return Claim(request.holder, request.serial, *found)


def send_late(engine: ConsulEngine, post: Post, request: Request, *, wait: bool = True) -> None:
    post.keep_next()
    with pytest.raises(Unavailable):
        engine.claim(request, wait=wait)


def holders(engine: ConsulEngine, name: str = "a") -> list[tuple[str, int]]:
    return [(each.claim.holder.label, each.claim.serial) for each in engine.look(name).holders]


def test_one_request_s_withdrawal_does_not_answer_for_the_late_claim_of_another(connect: Connect) -> None:
    engine, holder = connect("one")
    post = Post(engine)
    first, second = asked(holder, 1, "a"), asked(holder, 2, "b")
    send_late(engine, post, first)
    with pytest.raises(Unavailable):
        post.keep_next()
        engine.claim(second, wait=True)

    def meanwhile() -> None:
        engine.withdraw(first)
        post.deliver()

    # The first is withdrawn, and arrives, while the withdrawal of the second is on its way.
    post.before_next(meanwhile)
    engine.withdraw(second)
    assert holders(engine) == []


def test_a_claim_that_was_withdrawn_after_another_request_s_withdrawal_is_not_granted(connect: Connect) -> None:
    engine, holder = connect("one")
    post = Post(engine)
    first, second = asked(holder, 1, "a"), asked(holder, 2, "b")
    send_late(engine, post, first)
    engine.withdraw(first)
    post.deliver()
    send_late(engine, post, second)
    send_late(engine, post, first)
    engine.withdraw(second)
    engine.withdraw(first)
    post.deliver()
    assert holders(engine) == holders(engine, "b") == []


@pytest.mark.parametrize("mode", [Mode.EXCLUSIVE, Mode.SHARED])
@pytest.mark.parametrize("beside", [False, True], ids=["alone", "while another is withdrawn"])
def test_a_claim_that_arrives_after_its_grant_was_released_is_not_granted(
    connect: Connect, mode: Mode, beside: bool
) -> None:
    engine, holder = connect("one")
    post = Post(engine)
    first, second = asked(holder, 1, "a", mode=mode), asked(holder, 2, "b")
    send_late(engine, post, first)
    claim = claim_of(first, engine.claim(first, wait=True))
    if not beside:
        assert engine.release(claim)
        post.deliver()
    else:
        post.keep_next(with_text=b"/v1/txn")
        with pytest.raises(Unavailable):
            engine.claim(second, wait=True)

        def meanwhile() -> None:
            assert engine.release(claim)
            post.deliver()

        post.before_next(meanwhile)
        engine.withdraw(second)
    assert holders(engine) == []


def test_a_claim_that_arrives_after_all_of_its_grants_were_released_is_not_granted(connect: Connect) -> None:
    engine, holder = connect("one")
    post = Post(engine)
    request = asked(holder, 1, "a", "b")
    send_late(engine, post, request)
    answer = engine.claim(request, wait=True)
    assert engine.release_all([claim_of(request, answer, name) for name in "ab"]) == (True, True)
    post.deliver()
    assert holders(engine) == holders(engine, "b") == []


def test_a_claim_that_arrives_after_a_reader_that_it_became_was_released_is_not_granted(connect: Connect) -> None:
    engine, holder = connect("one")
    post = Post(engine)
    request = asked(holder, 1, "a")
    send_late(engine, post, request)
    claim = claim_of(request, engine.claim(request, wait=True))
    assert engine.share(claim)
    assert engine.release(claim)
    post.deliver()
    assert holders(engine) == []


def test_a_claim_that_arrives_after_its_grant_was_evicted_and_released_is_not_granted(connect: Connect) -> None:
    engine, holder = connect("one")
    post = Post(engine)
    request = asked(holder, 1, "a")
    send_late(engine, post, request)
    claim = claim_of(request, engine.claim(request, wait=True))
    engine.evict("a", "somebody")
    assert not engine.release(claim)
    post.deliver()
    assert holders(engine) == []


def test_a_claim_that_arrives_after_a_renewal_told_of_its_end_is_not_granted(connect: Connect) -> None:
    engine, holder = connect("one")
    post = Post(engine)
    request = asked(holder, 1, "a")
    send_late(engine, post, request)
    claim = claim_of(request, engine.claim(request, wait=True))
    engine.evict("a", "somebody")
    assert [serial for serial, _, _ in engine.lease_renew(holder, LASTING, [claim]).gone] == [1]
    post.deliver()
    assert holders(engine) == []


def test_a_claim_that_arrives_after_the_request_was_told_busy_is_not_granted(connect: Connect) -> None:
    engine, holder = connect("one")
    other, another = connect("another")
    post = Post(engine)
    request, held = asked(holder, 1, "a"), asked(another, 1, "a")
    claim = claim_of(held, other.claim(held, wait=True))
    send_late(engine, post, request)
    assert isinstance(engine.claim(request, wait=False), Busy)
    assert other.release(claim)
    post.deliver()
    assert holders(other) == []


def test_what_a_claim_gave_back_takes_nothing_late_from_the_same_claim_asked_again(
    agent: Agent, connect: Connect
) -> None:
    engine, holder = connect("one")
    other, another = connect("another")
    dying, dead = connect("dying")
    assert isinstance(dying.claim(asked(dead, 1, "a"), wait=True), Granted)
    waiting = asked(another, 1, "a")
    assert isinstance(other.claim(waiting, wait=True), Queued)
    agent.call("PUT", f"/v1/session/destroy/{session_of(agent, 'dying')}")
    # It takes the free name, finds that somebody waits, and what gives it back is held up.
    post = Post(engine)
    request = asked(holder, 1, "a", mode=Mode.SHARED)
    post.keep_next(with_text=b'"delete"')
    with pytest.raises(Unavailable):
        engine.claim(request, wait=True)
    other.withdraw(waiting)
    claim = claim_of(request, engine.claim(request, wait=True))
    post.deliver()
    assert engine.lease_renew(holder, LASTING, [claim]).gone == ()
    assert holders(engine) == [("one", 1)]


def test_a_request_that_was_answered_leaves_no_doubt_behind(connect: Connect) -> None:
    engine, holder = connect("one")
    post = Post(engine)
    for serial in range(1, 20):
        request = asked(holder, serial, "a")
        send_late(engine, post, request)
        if serial % 2:
            engine.withdraw(request)
        else:
            engine.release(claim_of(request, engine.claim(request, wait=True)))
    post.deliver()
    assert holders(engine) == []
    assert not engine._leases[holder.id]._doubts
