"""What was sent and comes late, after what followed it, has no effect; and nor has what nobody of ours has sent."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import fencepost
from fencepost._runtime.threads import BootClock
from fencepost.contract.answer import Granted, Queued
from fencepost.core.claim import Ask, Claim, Mode, Request
from fencepost.core.holder import Holder
from fencepost.core.url import parse_url
from fencepost.engines.redis._sync.engine import Engine, RedisEngine
from fencepost.engines.redis.address import Address
from fencepost.engines.redis.resp import Reply, ReplyError
from fencepost.engines.redis.script import Script
from fencepost.engines.redis.wire.threads import connect
from fencepost.errors import Unavailable
from fencepost.testing.condition import until
from fencepost.testing.redis import command
from tests.support.engine import engine_as

HOLDER, OTHER = Holder("0" * 24, "holder"), Holder("1" * 24, "other")
ASKS = {"alone": Ask("a"), "shared": Ask("a", Mode.SHARED), "counted": Ask("a", Mode.COUNTED, 1, 2)}


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    engine = Engine(parse_url(url), clock=BootClock(), patience=60.0)
    for holder in (HOLDER, OTHER):
        engine.lease_open(holder, 120)
    yield engine
    engine.close()


@contextmanager
def held_up(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bytes]]:
    """What is sent inside is kept on its way, and its sender hears nothing."""
    kept: list[bytes] = []

    def run(script: Script, words: bytes, slot: int) -> Reply:
        kept.append(script.load + words)
        raise Unavailable("no answer")

    with monkeypatch.context() as patch:
        patch.setattr(engine._server, "run", run)
        yield kept


def arrive(port: int, kept: list[bytes]) -> None:
    connection = connect(Address(port=port), 60.0)
    for words in kept:
        connection.sendall(words)
        connection.read()
        assert not isinstance(connection.read(), ReplyError)
    connection.close()


@pytest.mark.parametrize("ask", ASKS.values(), ids=ASKS)
@pytest.mark.parametrize("wait", [False, True])
def test_a_claim_that_comes_after_its_withdrawal_is_not_granted(
    port: int, engine: Engine, monkeypatch: pytest.MonkeyPatch, ask: Ask, wait: bool
) -> None:
    request = Request(HOLDER, 1, (ask,))
    with held_up(engine, monkeypatch) as kept, pytest.raises(Unavailable):
        engine.claim(request, wait=wait)
    engine.withdraw(request)
    arrive(port, kept)
    assert engine.look("a").holders == engine.look("a").waiters == ()
    assert isinstance(engine.claim(Request(HOLDER, 2, (ask,)), wait=False), Granted)


@pytest.mark.parametrize("ask", ASKS.values(), ids=ASKS)
def test_a_claim_that_was_asked_again_and_given_back_before_it_comes_is_not_granted(
    port: int, engine: Engine, monkeypatch: pytest.MonkeyPatch, ask: Ask
) -> None:
    request = Request(HOLDER, 1, (ask,))
    with held_up(engine, monkeypatch) as kept, pytest.raises(Unavailable):
        engine.claim(request, wait=False)
    granted = engine.claim(request, wait=False)
    assert isinstance(granted, Granted)
    assert engine.release(Claim(HOLDER, 1, ask, granted.tokens[0]))
    arrive(port, kept)
    assert engine.look("a").holders == ()


def test_a_claim_that_would_not_wait_does_not_take_the_place_of_one_that_does(
    port: int, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert isinstance(engine.claim(Request(OTHER, 1, (Ask("a"),)), wait=False), Granted)
    request = Request(HOLDER, 1, (Ask("a"),))
    with held_up(engine, monkeypatch) as kept, pytest.raises(Unavailable):
        engine.claim(request, wait=True)
    assert isinstance(engine.claim(request, wait=True), Queued)
    arrive(port, kept)
    assert [each.claim.holder for each in engine.look("a").waiters] == [HOLDER]


def test_a_claim_of_another_thread_on_the_way_meanwhile_is_asked_again(port: int, engine: Engine) -> None:
    """The server hears of the next epoch before it comes."""
    command(port, "SET", f"fencepost\0lease\0{HOLDER.id}", "2", "KEEPTTL")
    run = engine._server.run
    asked: list[Reply] = []

    def once_more(script: Script, command: bytes, slot: int) -> Reply:
        reply = run(script, command, slot)
        if not asked:
            engine._leases[HOLDER.id].epochs.advance()
        asked.append(reply)
        return reply

    engine._server.run = once_more  # type: ignore[method-assign]
    assert isinstance(engine.claim(Request(HOLDER, 1, (Ask("a"),)), wait=False), Granted)
    assert asked[0] == [-2]


@pytest.mark.parametrize("what", ["release", "share", "renewal", "withdrawal"])
def test_whatever_else_comes_after_its_request_has_ended_does_nothing(
    port: int, engine: Engine, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    granted = engine.claim(Request(HOLDER, 1, (Ask("a"),)), wait=False)
    assert isinstance(granted, Granted)
    claim = Claim(HOLDER, 1, Ask("a"), granted.tokens[0])
    with held_up(engine, monkeypatch) as kept, pytest.raises(Unavailable):
        match what:
            case "release":
                engine.release(claim)
            case "share":
                engine.share(claim)
            case "renewal":
                engine.lease_renew(HOLDER, 600, [claim])
            case "withdrawal":
                engine.withdraw(Request(HOLDER, 1, (Ask("a"),)))
    assert engine.release(claim)
    again = engine.claim(Request(HOLDER, 2, (Ask("a"),)), wait=False)
    assert isinstance(again, Granted)
    left = command(port, "PTTL", "a")
    for _ in range(2):
        arrive(port, kept)
    (holder,) = engine.look("a").holders
    assert (holder.claim.serial, holder.claim.ask.mode, holder.claim.token) == (2, Mode.EXCLUSIVE, again.tokens[0])
    assert command(port, "PTTL", "a") <= left


def test_a_claim_that_was_shared_without_an_answer_is_kept_and_may_be_shared_again(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    granted = engine.claim(Request(HOLDER, 1, (Ask("a"),)), wait=False)
    assert isinstance(granted, Granted)
    claim = Claim(HOLDER, 1, Ask("a"), granted.tokens[0])
    run = engine._server.run

    def unanswered(script: Script, words: bytes, slot: int) -> Reply:
        run(script, words, slot)
        raise Unavailable("no answer")

    with monkeypatch.context() as patch, pytest.raises(Unavailable):
        patch.setattr(engine._server, "run", unanswered)
        engine.share(claim)
    assert engine.look("a").holders[0].claim.ask.mode is Mode.SHARED
    assert engine.lease_renew(HOLDER, 120, [claim]) == (True, ())
    assert engine.share(claim)
    assert engine.lease_renew(HOLDER, 120, [claim]) == (True, ())
    assert isinstance(engine.claim(Request(OTHER, 1, (Ask("a", Mode.SHARED),)), wait=False), Granted)
    assert engine.release(claim)


def test_a_grant_that_anybody_published_is_not_believed(port: int, url: str) -> None:
    with fencepost.connect(url, ttl=120) as first, fencepost.connect(url, ttl=120) as second:
        held = first.lock("a").acquire()
        taken: list[fencepost.Grant] = []
        waiting = threading.Thread(target=lambda: taken.append(second.lock("a").acquire(timeout=60)))
        waiting.start()
        until(lambda: first.look("a").waiters)
        (waiter,) = first.look("a").waiters
        channel = engine_as(second, RedisEngine)._ear.channel
        until(lambda: command(port, "PUBSUB", "NUMSUB", channel)[1] == 1)
        key = f"{waiter.claim.holder.id}:{waiter.claim.serial}"
        asked = times_run(port)
        for message in (f"{key}:{held.token + 1}", f"{key}:1:", f"{key}:7:0000", "nonsense", "a:b:c:d", "\n:::"):
            assert command(port, "PUBLISH", channel, message) == 1
        # It asked the server instead, and stands where it stood.
        until(lambda: times_run(port) > asked)
        assert [each.claim for each in first.look("a").waiters] == [waiter.claim]
        assert not taken
        held.release()
        waiting.join(60)
        assert taken[0].token > held.token


def times_run(port: int) -> int:
    lines = command(port, "INFO", "commandstats").decode().split()
    return sum(int(line.split("calls=")[1].split(",")[0]) for line in lines if line.startswith("cmdstat_evalsha:"))


def test_a_grant_that_was_taken_away_before_its_message_came_is_none(engine: Engine) -> None:
    held = engine.claim(Request(OTHER, 1, (Ask("a"),)), wait=False)
    assert isinstance(held, Granted)
    request = Request(HOLDER, 1, (Ask("a"),))
    assert isinstance(engine.claim(request, wait=True), Queued)
    # Its message is on its way while all the rest happens.
    assert engine.release(Claim(OTHER, 1, Ask("a"), held.tokens[0]))
    assert [claim.holder for claim in engine.evict("a", "operator")] == [HOLDER]
    now = engine.claim(Request(OTHER, 2, (Ask("a"),)), wait=False)
    assert isinstance(now, Granted)
    queued = engine.claim(request, wait=True)
    assert isinstance(queued, Queued)
    assert isinstance(engine.wait(queued, 0.1), Queued)
    assert [holder.claim.token for holder in engine.look("a").holders] == list(now.tokens)
    assert engine.release(Claim(OTHER, 2, Ask("a"), now.tokens[0]))
    assert isinstance(engine.wait(queued, 60.0), Granted)
