# Generated from tests/engines/zookeeper/_async/test_fault.py by tools/unasync.py. Do not edit: run `make gen`.
"""One real server that dies, stops, or is cut off, or whose replies are lost."""

import uuid

import pytest

import fencepost
from fencepost import Lost, Unavailable, Uncertain
from fencepost.core.event import Event, Jeopardy, LeaseLost, Recovered
from fencepost.core.lease import Standing
from fencepost.engines.zookeeper._sync.engine import ZookeeperEngine
from fencepost.primitives._sync.connect import connect
from fencepost.primitives._sync.session import Session
from fencepost.testing.contract._sync.attempt import Attempt, until
from fencepost.testing.contract._sync.place import until_waiting
from fencepost.testing.proxy import Proxy
from fencepost.testing.zookeeper import ZookeeperServer, sessions_at, shared_server
from tests.support.engine import engine_as
from tests.support.now import now
from tests.support.zookeeper._sync.patience import ENDING, LASTING, PATIENCE, apart, so
from tests.support.zookeeper.observer import Observer


@pytest.fixture
def url(server: ZookeeperServer) -> str:
    return f"zookeeper://127.0.0.1:{server.port}/{uuid.uuid4().hex}"


@pytest.fixture
def shared() -> ZookeeperServer:
    return shared_server()


def test_a_killed_server_is_unavailable_and_the_lock_outlives_its_restart(
    server: ZookeeperServer, url: str
) -> None:
    with connect(url, ttl=LASTING) as first, connect(url, ttl=LASTING) as second:
        held = first.lock("a").acquire()
        server.kill()
        with pytest.raises((Unavailable, Uncertain)):
            second.lock("a").acquire(timeout=0)
        apart(server.start)
        so(lambda: server.mode)
        assert second.lock("a").try_acquire() is None
        assert held.held
        held.release()
        assert (second.lock("a").acquire(timeout=PATIENCE)).token > held.token


@pytest.mark.slow
def test_the_holder_is_told_in_time_when_the_server_stops_answering(server: ZookeeperServer, url: str) -> None:
    with connect(url, ttl=ENDING) as session:
        happened: list[type[Event]] = []
        session.subscribe(lambda each: happened.append(type(each)), Jeopardy, LeaseLost)
        grant = session.lock("a").acquire()
        server.pause()
        try:
            assert grant.lost.wait(PATIENCE)
            assert not grant.held
            so(lambda: LeaseLost in happened)
            # A machine that is too busy to try a renewal in time skips the warning, never the loss.
            assert happened[-1] is LeaseLost
            with pytest.raises((Unavailable, Uncertain)):
                session.lock("b").acquire(timeout=0)
        finally:
            server.resume()
        with session.lock("a", timeout=PATIENCE) as new:
            assert new.token > grant.token


@pytest.mark.slow
def test_a_session_that_ended_while_its_holder_was_cut_off_is_a_loss(shared: ZookeeperServer) -> None:
    """kazoo's `Lock.is_acquired` stays true here."""
    with Proxy(shared.port) as proxy:
        with (
            connect(f"zookeeper://127.0.0.1:{proxy.port}/cut", ttl=ENDING) as cut,
            connect(f"zookeeper://127.0.0.1:{shared.port}/cut", ttl=LASTING) as other,
        ):
            happened: list[type[Event]] = []
            cut.subscribe(lambda each: happened.append(type(each)), Jeopardy, LeaseLost)
            old = cut.lock("a").acquire()
            proxy.cut()
            new = other.lock("a").acquire(timeout=PATIENCE)
            assert old._keeper.ends_at <= new.granted_at
            assert not old.held
            assert old.standing is Standing.LOST
            assert new.token > old.token
            so(lambda: LeaseLost in happened)
            # A machine that is too busy to try a renewal in time skips the warning, never the loss.
            assert happened[-1] is LeaseLost
            proxy.heal()
            with pytest.raises(Lost):
                old.check()
            with cut.lock("b", timeout=PATIENCE):
                pass


def test_a_short_cut_is_jeopardy_and_the_same_session_goes_on(shared: ZookeeperServer) -> None:
    with Proxy(shared.port) as proxy:
        with connect(f"zookeeper://127.0.0.1:{proxy.port}/short", ttl=LASTING) as session:
            happened: list[type[Event]] = []
            session.subscribe(lambda each: happened.append(type(each)), Jeopardy, Recovered)
            grant = session.lock("a").acquire()
            keeper = session.keeper()
            proxy.cut()
            assert not keeper._renew()
            assert now(grant.standing) is Standing.JEOPARDY
            assert grant.held
            proxy.heal()
            until(keeper._renew)
            assert happened[0] is Jeopardy
            assert happened[-1] is Recovered
            assert grant.standing is Standing.HELD
            grant.release()


@pytest.mark.slow
def test_a_create_whose_reply_is_lost_is_found_again_and_is_one_grant(shared: ZookeeperServer) -> None:
    with Proxy(shared.port) as proxy, Observer(shared) as observer:
        with connect(f"zookeeper://127.0.0.1:{proxy.port}/lost", ttl=9) as session:
            (session.lock("warm").acquire()).release()
            proxy.drop_replies()
            attempt = Attempt(lambda: session.lock("a").acquire(timeout=PATIENCE))
            so(lambda: observer.nodes("/lost/a"))
            made = observer.tokens("/lost/a")
            proxy.heal()
            grant = attempt.outcome(PATIENCE)
            assert observer.tokens("/lost/a") == [grant.token] == made
            grant.release()
            assert observer.nodes("/lost/a") == []


def test_a_try_whose_reply_is_lost_leaves_no_orphan(shared: ZookeeperServer) -> None:
    with Proxy(shared.port) as proxy, Observer(shared) as observer:
        with connect(f"zookeeper://127.0.0.1:{proxy.port}/orphan", ttl=LASTING) as session:
            other = session.lock("other").acquire()
            proxy.drop_replies()
            attempt = Attempt(session.lock("a").try_acquire)
            so(lambda: observer.nodes("/orphan/a"))
            proxy.cut()
            with pytest.raises((Unavailable, Uncertain)):
                attempt.outcome(PATIENCE)
            assert len(observer.nodes("/orphan/a")) == 1
            proxy.heal()
            # As after every renewal.
            keeper = session.keeper()
            until(keeper._renew)
            keeper.settlement.settle_all()
            assert observer.nodes("/orphan/a") == []
            # The session lives on: only its settlement can have done that.
            assert other.held
            other.release()


@pytest.mark.slow
def test_a_create_that_arrives_after_it_was_given_up_leaves_nothing(shared: ZookeeperServer) -> None:
    with Proxy(shared.port) as proxy, Proxy(shared.port) as detour, Observer(shared) as observer:
        hosts = f"127.0.0.1:{proxy.port},127.0.0.1:{detour.port}"
        detour.refuse()
        with connect(f"zookeeper://{hosts}/late", ttl=9) as session:
            other = session.lock("other").acquire()
            proxy.hold()
            proxy.refuse()
            detour.heal()
            with session.lock("a", timeout=PATIENCE):
                pass
            assert observer.nodes("/late/a") == []
            # What was held back arrives now, on a connection that was given up: it is for the same session.
            proxy.heal()
            so(lambda: session.statistics().renewals >= 2 and not observer.nodes("/late/a"))
            assert other.held
            other.release()


def test_a_waiter_whose_connection_is_cut_keeps_its_place(shared: ZookeeperServer) -> None:
    taken: list[str] = []

    def take(session: Session) -> None:
        with session.lock("a", timeout=PATIENCE) as grant:
            taken.append(grant.holder.label)

    with Proxy(shared.port) as proxy:
        with (
            connect(f"zookeeper://127.0.0.1:{shared.port}/place", ttl=LASTING) as first,
            connect(f"zookeeper://127.0.0.1:{proxy.port}/place", ttl=LASTING, holder="cut") as cut,
            connect(f"zookeeper://127.0.0.1:{shared.port}/place", ttl=LASTING, holder="behind") as behind,
        ):
            held = first.lock("a").acquire()
            one = Attempt(lambda: take(cut))
            until_waiting(first, "a", 1)
            other = Attempt(lambda: take(behind))
            until_waiting(first, "a", 2)
            proxy.cut()
            proxy.heal()
            held.release()
            one.outcome(PATIENCE)
            other.outcome(PATIENCE)
    assert taken == ["cut", "behind"]


@pytest.mark.slow
def test_a_session_that_ends_while_waiting_leaves_nobody_in_the_line(shared: ZookeeperServer) -> None:
    with Proxy(shared.port) as proxy, Observer(shared) as observer:
        with (
            connect(f"zookeeper://127.0.0.1:{shared.port}/wait", ttl=LASTING) as first,
            connect(f"zookeeper://127.0.0.1:{proxy.port}/wait", ttl=ENDING) as cut,
        ):
            held = first.lock("a").acquire()
            attempt = Attempt(lambda: cut.lock("a").acquire(timeout=PATIENCE))
            so(lambda: len(observer.nodes("/wait/a")) == 2)
            proxy.cut()
            so(lambda: len(observer.nodes("/wait/a")) == 1)
            # Cut off for longer than its lease: told so, rather than waiting for ever.
            with pytest.raises(fencepost.FencepostError):
                attempt.outcome(PATIENCE)
            proxy.heal()
            held.release()
            with cut.lock("a", timeout=PATIENCE) as grant:
                assert grant.token > held.token


def test_a_session_killed_at_the_server_while_waiting_goes_to_the_end_of_the_line(
    shared: ZookeeperServer,
) -> None:
    with Observer(shared) as observer:
        with (
            connect(f"zookeeper://127.0.0.1:{shared.port}/expired", ttl=LASTING) as first,
            connect(f"zookeeper://127.0.0.1:{shared.port}/expired", ttl=LASTING) as second,
        ):
            held = first.lock("a").acquire()
            attempt = Attempt(lambda: second.lock("a").acquire(timeout=PATIENCE))
            until_waiting(first, "a", 1)
            before = observer.nodes("/expired/a")
            keeper = second.keeper()
            observer.end_session(engine_as(second, ZookeeperEngine)._members[keeper.holder.id].link.session)
            so(lambda: len(observer.nodes("/expired/a")) == 2 and observer.nodes("/expired/a") != before)
            assert keeper.lost.wait(PATIENCE)
            held.release()
            (attempt.outcome(PATIENCE)).release()


def test_nothing_is_left_behind_when_sessions_close(server: ZookeeperServer, url: str) -> None:
    # Those of tests before this end by themselves.
    so(lambda: sessions_at(server) == 0)
    with connect(url, ttl=LASTING) as first, connect(url, ttl=LASTING) as second:
        first.lock("a").acquire()
        assert second.lock("a").try_acquire() is None
        with pytest.raises(fencepost.AcquireTimeout):
            second.lock("a").acquire(timeout=0.05)
        assert sessions_at(server) == 2
    assert sessions_at(server) == 0
