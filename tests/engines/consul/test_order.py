"""Nobody overtakes whoever waits, also where nobody is awake to see it; and one question for all who wait together."""

import base64
import json
import threading
from functools import partial
from typing import Any

import pytest

import fencepost
from fencepost._runtime.clock import boottime
from fencepost.contract.answer import Busy, Granted, Queued
from fencepost.core.claim import Ask, Claim, Mode, Request
from fencepost.engines.consul._sync.engine import ConsulEngine
from fencepost.engines.consul.wire.threads import Watch
from fencepost.testing.condition import until
from fencepost.testing.consul import Agent
from tests.support.engine import engine_as

from .conftest import LASTING, PATIENCE, Connect, holder_of


def test_whoever_comes_after_a_death_does_not_overtake_one_who_waits_and_sleeps(connect: Connect) -> None:
    (one, dying), (two, sleeping), (three, late) = connect("dying"), connect("sleeping"), connect("late")
    asked = Request(sleeping, 1, (Ask("a"),))
    held = one.claim(Request(dying, 1, (Ask("a"),)), wait=False)
    assert isinstance(held, Granted)
    place = two.claim(asked, wait=True)
    assert isinstance(place, Queued)
    # Nobody hands over, and nobody watches.
    one.lease_close(dying)
    answer = three.claim(Request(late, 1, (Ask("a"),)), wait=False)
    assert isinstance(answer, Busy)
    assert [claim.holder.label for claim in answer.ahead] == ["sleeping"]
    granted = two.wait(place, 0.0)
    assert isinstance(granted, Granted)
    assert granted.tokens > held.tokens


def test_a_release_makes_the_next_one_the_holder_though_nobody_watches(connect: Connect, agent: Agent) -> None:
    (one, first), (two, second), (three, third) = connect("first"), connect("second"), connect("third")
    held = one.claim(Request(first, 1, (Ask("a"),)), wait=False)
    assert isinstance(held, Granted)
    places = [
        engine.claim(Request(holder, number, (Ask("a"),)), wait=True)
        for number, (engine, holder) in enumerate([(one, first), (two, second), (three, third)], start=2)
    ]
    assert one.release(Claim(first, 1, Ask("a"), held.tokens[0]))
    for (engine, holder), place, following in zip(
        [(one, first), (two, second)], places, ["second", "third"], strict=False
    ):
        assert isinstance(place, Queued)
        granted = engine.wait(place, 0.0)
        assert isinstance(granted, Granted)
        assert holder_of(agent, "a") == holder.label
        assert engine.release(Claim(holder, place.request.serial, Ask("a"), granted.tokens[0]))
        assert holder_of(agent, "a") == following


def test_going_on_as_a_reader_makes_the_next_readers_holders_though_nobody_watches(
    connect: Connect, agent: Agent
) -> None:
    (one, first), (two, second) = connect("first"), connect("second")
    held = one.claim(Request(first, 1, (Ask("a"),)), wait=False)
    assert isinstance(held, Granted)
    for serial in (1, 2):
        assert isinstance(two.claim(Request(second, serial, (Ask("a", Mode.SHARED),)), wait=True), Queued)
    assert one.share(Claim(first, 1, Ask("a"), held.tokens[0]))
    below = [json.loads(base64.b64decode(each["Value"])) for each in agent.call("GET", "/v1/kv/a/.lock/?recurse")[1]]
    assert [(each["label"], each["granted"]) for each in below] == [("first", True), ("second", True), ("second", True)]


def test_a_waiter_evicted_before_it_heard_of_its_grant_asks_again_though_a_renewal_knew(connect: Connect) -> None:
    engine, holder = connect("first")
    engine.claim(Request(holder, 1, (Ask("a"),)), wait=False)
    place = engine.claim(Request(holder, 2, (Ask("a"),)), wait=True)
    assert isinstance(place, Queued)
    engine.evict("a", "operator")
    token = engine.look("a").holders[0].claim.token
    engine.evict("a", "operator")
    assert engine.lease_renew(holder, 20, [Claim(holder, 2, Ask("a"), token)]).gone == (
        (2, "a", "evicted by operator"),
    )
    answer = engine.wait(place, 0.0)
    assert isinstance(answer, Granted)
    assert answer.tokens[0] > (token or 0)


def test_many_who_wait_in_one_session_for_one_name_share_one_question(agent: Agent, url: str) -> None:
    with fencepost.connect(url, ttl=LASTING) as holder, fencepost.connect(url, ttl=LASTING) as session:
        held = holder.lock("a").acquire()
        order: list[int] = []

        def take(number: int) -> None:
            with session.lock("a", timeout=PATIENCE):
                order.append(number)

        def stand(count: int) -> bool:
            return len(holder.look("a").waiters) == count

        threads = [threading.Thread(target=take, args=[number]) for number in range(12)]
        for number, thread in enumerate(threads):
            thread.start()
            until(partial(stand, number + 1))
        line = engine_as(session, ConsulEngine)._line
        until(lambda: len(line._watches) == 1)
        assert len(line._asking) == 1
        held.release()
        for thread in threads:
            thread.join(PATIENCE)
        assert order == list(range(12))
        assert line._waiting == {}


@pytest.mark.parametrize("kind", ["readers", "permits"])
def test_whoever_waits_behind_readers_or_permits_asks_once_and_not_without_pause(
    kind: str, connect: Connect, agent: Agent
) -> None:
    (one, first), (two, second) = connect("first"), connect("second")
    held = Ask("a", Mode.SHARED) if kind == "readers" else Ask("a", Mode.COUNTED, 1, 1)
    wanted = Ask("a") if kind == "readers" else held
    granted = one.claim(Request(first, 1, (held,)), wait=False)
    assert isinstance(granted, Granted)
    place = two.claim(Request(second, 1, (wanted,)), wait=True)
    assert isinstance(place, Queued)
    link: Any = two._store._link
    watch, asked, answers = link.watch, [], []

    def counted(request: bytes, *others: Any) -> Any:
        asked.append(request)
        return watch(request, *others)

    link.watch = counted
    waiter = threading.Thread(target=lambda: answers.append(two.wait(place, PATIENCE)))
    waiter.start()
    until(lambda: asked)
    # A question that is answered at once would be asked again many times meanwhile.
    for _ in range(100):
        agent.call("GET", "/v1/kv/a/.lock")
    assert len(asked) == 1
    assert one.release(Claim(first, 1, held, granted.tokens[0]))
    waiter.join(PATIENCE)
    assert isinstance(answers[0], Granted)


def test_a_question_that_was_answered_can_not_be_interrupted_on_a_connection_that_is_another_s(
    connect: Connect, agent: Agent
) -> None:
    engine, _ = connect("one")
    link: Any = engine._store._link
    give_back, seen = link._give_back, []
    watch = Watch()

    def given_back(*others: Any) -> None:
        seen.append(watch.connection)
        give_back(*others)

    link._give_back = given_back
    assert link.watch(b"GET /v1/kv/a HTTP/1.1\r\nHost: a\r\n\r\n", boottime() + PATIENCE, watch) is not None
    assert seen == [None]
