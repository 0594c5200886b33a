"""A real agent behind a proxy that cuts, holds and drops; sessions that end; a stranger that interferes."""

import threading
from typing import Any

import pytest

import fencepost
from fencepost import Lost, Unavailable, Uncertain
from fencepost.contract.answer import Busy, Granted, Queued
from fencepost.core.claim import Ask, Mode, Request
from fencepost.engines.consul._sync.engine import ConsulEngine
from fencepost.engines.consul.key import lock_of
from fencepost.testing.condition import until
from fencepost.testing.consul import Agent
from fencepost.testing.proxy import Proxy
from tests.support.engine import engine_as
from tests.support.line import Line
from tests.support.renewal import renew

from .conftest import LASTING, PATIENCE, Connect, at

# Of one whose lease ends in the test. A call has a third of it.
ENDING = 3.0
# Of those who give up on an agent that does not answer, which they do after a third of it.
HALTING = 9.0
# Of one whose session is ended by hand, and others need not wait for its lease to be over.
AT_ONCE = "&lock_delay=0"


def session_of(agent: Agent, label: str) -> str:
    return next(str(each["ID"]) for each in agent.sessions() if str(each["Name"]).endswith(f" {label}"))


def refused(session: fencepost.Session) -> None:
    with pytest.raises(fencepost.SessionClosed):
        session.lock("a").acquire()


def test_nothing_is_left_of_a_session_that_was_closed(agent: Agent, url: str) -> None:
    with fencepost.connect(url, ttl=LASTING) as session:
        held = session.lock("a").acquire()
        session.rwlock("b").read().acquire()
        waiter = threading.Thread(target=refused, args=[session])
        waiter.start()
        until(lambda: session.look("a").waiters)
        assert held.held
    waiter.join(PATIENCE)
    assert agent.keys() == []
    assert agent.sessions() == []


def test_nothing_is_left_of_a_lock_that_was_given_back(agent: Agent, url: str) -> None:
    with fencepost.connect(url, ttl=LASTING) as session:
        before = agent.keys()
        for lock in (session.lock("a"), session.rwlock("a").read()):
            lock.acquire().release()
        assert agent.keys() == before


@pytest.mark.slow
def test_a_session_whose_opening_was_not_answered_is_destroyed(agent: Agent) -> None:
    with Proxy(agent.port) as proxy:
        # What goes wrong at the first agent is put right at the next.
        session = fencepost.connect(at(f"{proxy.port},127.0.0.1:{agent.port}"), ttl=HALTING)
        proxy.drop_replies()
        with pytest.raises(Unavailable):
            session.lock("a").acquire(timeout=0)
        assert agent.sessions() == []
        session.lock("a").acquire(timeout=PATIENCE).release()
        session.close()


@pytest.mark.slow
def test_a_claim_whose_reply_is_lost_leaves_no_phantom_holder(agent: Agent, url: str) -> None:
    with (
        Proxy(agent.port) as proxy,
        fencepost.connect(url, ttl=LASTING) as other,
        fencepost.connect(at(proxy.port), ttl=HALTING) as session,
    ):
        session.lock("warm").acquire().release()
        proxy.drop_replies()
        with pytest.raises((Unavailable, Uncertain)):
            session.lock("a").try_acquire()
        proxy.heal()
        renew(session)
        assert other.look("a").holders == ()
        session.lock("a").acquire(timeout=PATIENCE).release()


@pytest.mark.slow
def test_a_claim_that_arrives_after_it_was_withdrawn_is_not_granted(agent: Agent, url: str) -> None:
    with (
        Proxy(agent.port) as proxy,
        fencepost.connect(url, ttl=LASTING) as other,
        fencepost.connect(at(f"{proxy.port},127.0.0.1:{agent.port}"), ttl=HALTING) as session,
    ):
        session.lock("warm").acquire().release()
        proxy.hold()
        # The claim is held on its way to the first agent; what withdraws it goes to the next.
        with pytest.raises(Unavailable):
            session.lock("a").try_acquire()
        proxy.heal()
        # Whatever was held has arrived by the time that these, sent behind it, are answered.
        with fencepost.connect(at(proxy.port), ttl=LASTING) as late:
            for _ in range(20):
                assert late.look("a").holders == ()
        other.lock("a").acquire(timeout=0).release()


@pytest.mark.slow
def test_a_holder_that_is_cut_off_is_told_before_another_is_granted(agent: Agent, url: str) -> None:
    with (
        Proxy(agent.port) as proxy,
        fencepost.connect(url, ttl=LASTING) as other,
        fencepost.connect(at(proxy.port), ttl=ENDING) as session,
    ):
        old = session.lock("a").acquire()
        proxy.cut()
        new = other.lock("a").acquire(timeout=PATIENCE)
        assert not old.held
        assert old._keeper.ends_at < new.granted_at
        assert old.lost.wait(PATIENCE)
        assert new.token > old.token
        with pytest.raises(Lost):
            old.check()
        proxy.heal()


def test_a_session_destroyed_under_its_holder_is_a_loss_that_is_told(agent: Agent, url: str) -> None:
    with (
        fencepost.connect(f"{url}{AT_ONCE}", ttl=LASTING, holder="victim") as session,
        fencepost.connect(url, ttl=LASTING) as other,
    ):
        old = session.lock("a").acquire()
        agent.call("PUT", f"/v1/session/destroy/{session_of(agent, 'victim')}")
        new = other.lock("a").acquire(timeout=PATIENCE)
        renew(session)
        assert old.lost.is_set()
        assert new.token > old.token
        new.release()
        session.lock("a").acquire(timeout=PATIENCE).release()


def test_a_waiter_whose_session_ends_waits_on_under_another(agent: Agent, url: str) -> None:
    with fencepost.connect(url, ttl=LASTING) as first, fencepost.connect(url, ttl=LASTING, holder="waiter") as second:
        held = first.lock("a").acquire()
        taken: list[fencepost.Grant] = []
        waiter = threading.Thread(target=lambda: taken.append(second.lock("a").acquire(timeout=PATIENCE)))
        waiter.start()
        until(lambda: first.look("a").waiters)
        old = session_of(agent, "waiter")
        agent.call("PUT", f"/v1/session/destroy/{old}")
        renew(second)
        until(lambda: first.look("a").waiters and session_of(agent, "waiter") != old)
        held.release()
        waiter.join(PATIENCE)
        assert taken[0].token > held.token


def test_a_waiter_whose_question_is_cut_off_keeps_its_place(agent: Agent, url: str) -> None:
    with (
        Proxy(agent.port) as proxy,
        fencepost.connect(url, ttl=LASTING) as first,
        fencepost.connect(at(proxy.port), ttl=LASTING, holder="cut") as cut,
        fencepost.connect(url, ttl=LASTING, holder="behind") as behind,
    ):
        held = first.lock("a").acquire()
        line = Line(first)
        line.join(cut.lock("a", timeout=PATIENCE))
        line.join(behind.lock("a", timeout=PATIENCE))
        proxy.cut()
        proxy.heal()
        held.release()
        assert [each.label for each in line.served()] == ["cut", "behind"]


def test_a_waiter_behind_a_dead_one_is_served(agent: Agent, url: str) -> None:
    with (
        fencepost.connect(f"{url}{AT_ONCE}", ttl=LASTING) as first,
        fencepost.connect(url, ttl=LASTING, holder="third") as third,
    ):
        second = fencepost.connect(url, ttl=LASTING, holder="second")
        held = first.lock("a").acquire()
        dying = threading.Thread(target=refused, args=[second])
        dying.start()
        until(lambda: len(first.look("a").waiters) == 1)
        taken: list[fencepost.Grant] = []
        waiter = threading.Thread(target=lambda: taken.append(third.lock("a").acquire(timeout=PATIENCE)))
        waiter.start()
        until(lambda: len(first.look("a").waiters) == 2)
        # First the holder's session goes, and at the same time that of the only one who watches it.
        for label in ("second", first.label):
            agent.call("PUT", f"/v1/session/destroy/{session_of(agent, label)}")
        waiter.join(PATIENCE)
        assert taken[0].token > held.token
        second.close()
        dying.join(PATIENCE)


def test_readers_keep_others_out_after_the_first_of_them_died(agent: Agent, url: str) -> None:
    with (
        fencepost.connect(url, ttl=LASTING) as survivor,
        fencepost.connect(url, ttl=LASTING) as writer,
        fencepost.connect(f"{url}{AT_ONCE}", ttl=LASTING, holder="dying") as dying,
    ):
        dying.rwlock("a").read().acquire()
        kept = survivor.rwlock("a").read().acquire(timeout=0)
        agent.call("PUT", f"/v1/session/destroy/{session_of(agent, 'dying')}")
        # Also for those who know only the lock key: the other reader has it locked after its next renewal.
        renew(survivor)
        assert agent.call("GET", "/v1/kv/a/.lock")[0] == 200
        assert writer.lock("a").try_acquire() is None
        assert kept.held
        kept.release()
        writer.lock("a").acquire(timeout=PATIENCE).release()


@pytest.mark.parametrize("limit", [3, 9], ids=["over the limit", "another limit"])
def test_permits_keep_others_to_their_limit_after_the_first_holder_died(limit: int, agent: Agent, url: str) -> None:
    with (
        fencepost.connect(url, ttl=LASTING) as survivor,
        fencepost.connect(url, ttl=LASTING) as other,
        fencepost.connect(f"{url}{AT_ONCE}", ttl=LASTING, holder="dying") as dying,
    ):
        dying.semaphore("a", limit=3).acquire()
        kept = survivor.semaphore("a", limit=3, weight=2).acquire(timeout=0)
        agent.call("PUT", f"/v1/session/destroy/{session_of(agent, 'dying')}")
        permits = other.semaphore("a", limit=limit, weight=3)
        if limit == 3:
            assert permits.try_acquire() is None
        else:
            with pytest.raises(fencepost.Conflict):
                permits.try_acquire()
        assert [each.claim.token for each in survivor.look("a").holders] == [kept.token]
        renew(survivor)
        assert kept.held
        other.semaphore("a", limit=3).acquire(timeout=0).release()
        kept.release()
        other.semaphore("a", limit=3, weight=3).acquire(timeout=PATIENCE).release()


def test_a_permit_over_the_limit_whose_reply_was_lost_is_not_granted_when_asked_again(
    connect: Connect, agent: Agent
) -> None:
    (one, first), (two, survivor), (three, late) = connect("first"), connect("survivor"), connect("late")
    permit, rest, all_of_it = (Ask("a", Mode.COUNTED, weight, 3) for weight in (1, 2, 3))
    assert isinstance(one.claim(Request(first, 1, (permit,)), wait=False), Granted)
    assert isinstance(two.claim(Request(survivor, 1, (rest,)), wait=False), Granted)
    # As if its session had ended that had it locked for all.
    agent.call("DELETE", "/v1/kv/a/.lock")
    store: Any = three._store
    transact = store.transact

    def deaf(operations: Any) -> Any:
        transact(operations)
        store.transact = transact
        raise Unavailable("the reply was lost")

    store.transact = deaf
    request = Request(late, 1, (all_of_it,))
    with pytest.raises(Unavailable):
        three.claim(request, wait=False)
    assert isinstance(three.claim(request, wait=False), Busy)
    found = agent.keys()
    assert not any(key.startswith("a/") and late.id in key for key in found)


def test_a_key_deleted_by_hand_is_a_loss_that_is_told_at_the_next_renewal(agent: Agent, url: str) -> None:
    with fencepost.connect(url, ttl=LASTING) as session:
        grant = session.lock("a").acquire()
        agent.call("DELETE", "/v1/kv/a/.lock")
        renew(session)
        assert grant.lost.is_set()
        assert session.lock("a").acquire(timeout=PATIENCE).token > grant.token


def test_something_else_under_the_key_is_refused(agent: Agent, url: str) -> None:
    agent.call("PUT", "/v1/kv/a/.lock", "a value of somebody's")
    with fencepost.connect(url, ttl=LASTING) as session, pytest.raises(fencepost.Refused, match="use another prefix"):
        session.lock("a").acquire(timeout=1)
    assert agent.keys() == ["a/.lock"]


def test_a_waiter_whose_place_was_overwritten_is_refused_that_name_and_asks_no_more(
    connect: Connect, agent: Agent
) -> None:
    (one, first), (two, second) = connect("first"), connect("second")
    assert isinstance(one.claim(Request(first, 1, (Ask("a"),)), wait=False), Granted)
    request = Request(second, 1, (Ask("a"),))
    place = two.claim(request, wait=True)
    assert isinstance(place, Queued)
    agent.call("PUT", f"/v1/kv/{place.place.place('a')}", "a value of somebody's")
    store: Any = two._store
    send, asked = store.send, []

    def counted(operations: bytes) -> Any:
        asked.append(operations)
        return send(operations)

    store.send = counted
    with pytest.raises(fencepost.Refused, match="overwritten by another client"):
        two.wait(place, PATIENCE)
    assert len(asked) < 10
    two.withdraw(request)
    store.send = send
    assert isinstance(two.claim(Request(second, 2, (Ask("a"),)), wait=True), Queued)
    found = agent.keys()
    assert len([key for key in found if key.startswith("a/")]) == 2


def test_a_request_that_goes_while_its_names_are_read_is_granted_nothing(url: str) -> None:
    with fencepost.connect(url, ttl=LASTING) as first, fencepost.connect(url, ttl=LASTING) as second:
        held = first.lock("b").acquire()
        request = second.keeper().request((Ask("a"), Ask("b")))
        assert isinstance(second.engine.claim(request, wait=True), Queued)
        line = engine_as(first, ConsulEngine)._line
        read = line.views
        seen = read({"a": lock_of("", "a")})

        def late(locks: Any) -> Any:
            second.engine.withdraw(request)
            held.release()
            return read(locks)

        line.views = late  # type: ignore[method-assign]
        assert line.settle(seen)["a"].waiters == []
        assert first.look("a").holders == first.look("b").holders == ()
