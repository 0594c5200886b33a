"""One real server that dies, stops, forgets leases or history, or whose messages are lost or late."""

import asyncio
import threading
import time

import pytest

import fencepost
from fencepost import EngineError, Lost, Session, Unavailable, Uncertain
from fencepost.drivers.etcd import request
from fencepost.drivers.etcd.answer import Outcome
from fencepost.engines.etcd._sync.engine import EtcdEngine
from fencepost.engines.etcd.key import lease_of
from fencepost.testing.condition import until
from fencepost.testing.etcd import client, etcdctl, port_of
from fencepost.testing.proxy import Proxy
from fencepost.testing.server import ServerProcess
from tests.support.engine import engine_as
from tests.support.etcd.meter import keep_alives, watchers
from tests.support.etcd.traffic import traffic
from tests.support.renewal import renew

LASTING = 60.0
# For what comes within a second, on a machine that is busy with something else.
PATIENCE = 60.0
# Of those whose lease ends in the test. A call has a third of it.
ENDING = 4.0
# Of those who go to the next door once the first does not answer, which they know after a third of it.
HALTING = 6.0


@pytest.fixture
def harmed(server: ServerProcess) -> str:
    """The URL of the server that is harmed."""
    return at(port_of(server))


def at(port: int, *more: int) -> str:
    return f"etcd://{','.join(f'127.0.0.1:{each}' for each in (port, *more))}"


def revoke(url: str, session: Session) -> None:
    """As `etcdctl lease revoke` does, behind the session's back."""
    speaker = client(url=url)
    speaker.lease_revoke(lease_of(session.keeper().holder))
    speaker.close()


def run_etcdctl(url: str, *words: str) -> str:
    said, _ = etcdctl("--endpoints", url.replace("etcd://", "http://"), *words).communicate(timeout=PATIENCE)
    return said


def lease_list(url: str) -> set[str]:
    found, *leases = run_etcdctl(url, "lease", "list").splitlines()
    assert found.startswith("found ")
    return set(leases)


def test_a_killed_server_is_unavailable_and_keeps_locks_and_tokens_over_its_restart(
    server: ServerProcess, harmed: str
) -> None:
    with fencepost.connect(harmed, ttl=LASTING) as first, fencepost.connect(harmed, ttl=LASTING) as second:
        held = first.lock("a").acquire()
        server.kill()
        with pytest.raises((Unavailable, Uncertain)):
            second.lock("b").acquire(timeout=0)
        server.start()
        assert second.lock("a").try_acquire() is None
        assert held.held
        held.release()
        assert second.lock("a").acquire(timeout=PATIENCE).token > held.token


@pytest.mark.slow
def test_the_holder_is_told_in_time_when_the_server_stops_answering(server: ServerProcess, harmed: str) -> None:
    with fencepost.connect(harmed, ttl=ENDING) as session:
        grant = session.lock("a").acquire()
        server.pause()
        try:
            assert grant.lost.wait(PATIENCE)
            with pytest.raises((Unavailable, Uncertain)):
                session.lock("b").acquire(timeout=0)
        finally:
            server.resume()
        assert session.lock("a").acquire(timeout=PATIENCE).token > grant.token


@pytest.mark.slow
def test_traffic_goes_on_after_the_server_was_stopped_for_longer_than_the_leases(
    server: ServerProcess, harmed: str
) -> None:
    with traffic(harmed, ttl=ENDING) as going:
        server.pause()
        time.sleep(ENDING + 0.5)
        server.resume()
        going.flows()


def test_a_lease_revoked_under_a_holder_is_a_loss_that_it_is_told_of(url: str) -> None:
    with fencepost.connect(url, ttl=LASTING) as first, fencepost.connect(url, ttl=LASTING) as second:
        old = first.lock("a").acquire()
        revoke(url, first)
        new = second.lock("a").acquire(timeout=PATIENCE)
        assert new.token > old.token
        renew(first)
        assert old.lost.is_set()
        with pytest.raises(Lost, match="no longer has its lease"):
            old.check()


@pytest.mark.parametrize("flavour", ["sync", "async"])
async def test_a_lease_revoked_under_a_waiter_is_not_a_grant(url: str, flavour: str) -> None:
    """A server's own Lock may say yes to a waiter whose lease has died. Ours asks again under a new lease."""
    with fencepost.connect(url, ttl=LASTING, holder="holder") as first:
        held = first.lock("a").acquire()
        if flavour == "sync":
            with fencepost.connect(url, ttl=LASTING, holder="waiter") as second:
                taken: list[fencepost.Grant] = []
                waiter = threading.Thread(target=lambda: taken.append(second.lock("a").acquire(timeout=PATIENCE)))
                waiter.start()
                until(lambda: first.look("a").waiters)
                before = second.keeper().holder
                revoke(url, second)
                held.release()
                waiter.join(PATIENCE)
                assert taken[0].holder.id != before.id
                assert [each.claim.token for each in first.look("a").holders] == [taken[0].token]
        else:
            async with fencepost.connect_async(url, ttl=LASTING, holder="waiter") as asession:
                task = asyncio.create_task(asession.lock("a").acquire(timeout=PATIENCE))
                await asyncio.to_thread(until, lambda: first.look("a").waiters)
                keeper = await asession.keeper()
                speaker = client(url=url)
                speaker.lease_revoke(lease_of(keeper.holder))
                speaker.close()
                held.release()
                grant = await task
                assert grant.holder.id != keeper.holder.id
                assert [each.claim.token for each in first.look("a").holders] == [grant.token]


def test_a_key_deleted_by_hand_is_a_loss_at_the_next_renewal(url: str) -> None:
    with fencepost.connect(url, ttl=LASTING) as session:
        grant = session.lock("a").acquire()
        other = session.lock("b").acquire()
        run_etcdctl(url, "del", "--prefix", "a/")
        renew(session)
        assert grant.lost.is_set()
        assert other.held


@pytest.mark.slow
@pytest.mark.parametrize("how", ["tried", "acquired and released"])
def test_a_claim_that_arrives_after_it_was_given_up_is_no_phantom_holder(port: int, url: str, how: str) -> None:
    """It was on its way through one door when it was settled through the other."""
    with (
        Proxy(port) as proxy,
        fencepost.connect(url, ttl=LASTING) as other,
        fencepost.connect(at(proxy.port, port), ttl=HALTING) as session,
    ):
        session.lock("warm").acquire().release()
        sent = _sent_by(session)
        proxy.hold()
        if how == "tried":
            with pytest.raises((Unavailable, Uncertain)):
                session.lock("a").try_acquire()
        else:
            session.lock("a").acquire(timeout=PATIENCE).release()
        # What the proxy holds may arrive now or never, since its sender has gone; so it is sent once more.
        speaker = client(port)
        assert speaker.commit(sent[0]) is not None
        speaker.close()
        proxy.heal()
        assert other.look("a").holders == ()
        assert session.lock("a").try_acquire() is not None


def _sent_by(session: Session) -> list[bytes]:
    """Every transaction that the session sends from now on."""
    talker = engine_as(session, EtcdEngine)._client
    commit = talker.commit
    sent: list[bytes] = []

    def noted(transaction: bytes) -> Outcome | None:
        sent.append(transaction)
        return commit(transaction)

    talker.commit = noted  # type: ignore[method-assign]
    return sent


@pytest.mark.slow
def test_a_claim_whose_reply_is_lost_is_one_grant(port: int, url: str) -> None:
    with (
        Proxy(port) as proxy,
        fencepost.connect(url, ttl=LASTING) as other,
        fencepost.connect(at(proxy.port, port), ttl=HALTING) as session,
    ):
        session.lock("warm").acquire().release()
        proxy.drop_replies()
        with session.lock("a", timeout=PATIENCE) as grant:
            assert [each.claim.token for each in other.look("a").holders] == [grant.token]
        assert other.look("a").holders == ()


@pytest.mark.parametrize("flavour", ["sync", "async"])
async def test_a_waiter_whose_watch_is_broken_keeps_its_place(alone: int, flavour: str) -> None:
    with Proxy(alone) as proxy, fencepost.connect(at(alone), ttl=LASTING) as first:
        held = first.lock("a").acquire()
        session = fencepost.connect(at(proxy.port), ttl=LASTING, holder="cut")
        asession = fencepost.connect_async(at(proxy.port), ttl=LASTING, holder="cut")
        taken: list[int] = []

        def wait() -> None:
            taken.append(session.lock("a").acquire(timeout=PATIENCE).token)

        async def wait_async() -> None:
            taken.append((await asession.lock("a").acquire(timeout=PATIENCE)).token)

        task = asyncio.create_task(asyncio.to_thread(wait) if flavour == "sync" else wait_async())
        await asyncio.to_thread(until, lambda: first.look("a").waiters and watchers(alone) == 1)
        place = first.look("a").waiters[0].claim
        proxy.cut()
        await asyncio.to_thread(until, lambda: watchers(alone) == 0)
        proxy.heal()
        await asyncio.to_thread(until, lambda: watchers(alone) == 1, PATIENCE)
        assert [each.claim for each in first.look("a").waiters] == [place]
        held.release()
        await asyncio.wait_for(task, PATIENCE)
        assert taken[0] > held.token
        session.close()
        await asession.close()


@pytest.mark.slow
def test_a_silent_watch_is_made_up_for_by_looking_when_the_lease_is_renewed(alone: int) -> None:
    """The stream is there and says nothing: the waiter looks for itself when its lease would have ended."""
    with (
        Proxy(alone) as proxy,
        fencepost.connect(at(alone), ttl=LASTING) as first,
        fencepost.connect(at(proxy.port, alone), ttl=ENDING) as session,
    ):
        held = first.lock("a").acquire()
        taken: list[fencepost.Grant] = []
        waiter = threading.Thread(target=lambda: taken.append(session.lock("a").acquire(timeout=PATIENCE)))
        waiter.start()
        until(lambda: first.look("a").waiters and watchers(alone) == 1)
        proxy.drop_replies()
        held.release()
        waiter.join(PATIENCE)
        assert taken[0].token > held.token


def test_for_one_name_one_watch_is_left_open(alone: int) -> None:
    with fencepost.connect(at(alone), ttl=LASTING) as first, fencepost.connect(at(alone), ttl=LASTING) as second:
        held = first.lock("a").acquire()
        taken: list[fencepost.Grant] = []
        waiter = threading.Thread(target=lambda: taken.append(second.lock("a").acquire(timeout=PATIENCE)))
        waiter.start()
        until(lambda: first.look("a").waiters)
        held.release()
        waiter.join(PATIENCE)
        assert taken[0].held
        until(lambda: watchers(alone) <= 1)
        assert watchers(alone) == 1


def test_a_compacted_history_harms_nobody(url: str) -> None:
    with fencepost.connect(url, ttl=LASTING) as first, fencepost.connect(url, ttl=LASTING) as second:
        held = first.lock("a").acquire()
        taken: list[fencepost.Grant] = []
        waiter = threading.Thread(target=lambda: taken.append(second.lock("a").acquire(timeout=PATIENCE)))
        waiter.start()
        until(lambda: first.look("a").waiters)
        for _ in range(20):
            first.lock("b").acquire().release()
        speaker = client(url=url)
        revision = speaker.read(request.select(b"any")).revision
        speaker.close()
        assert "compacted" in run_etcdctl(url, "compact", str(revision))
        held.release()
        waiter.join(PATIENCE)
        assert taken[0].token > held.token


def test_a_closed_session_leaves_neither_keys_nor_leases(url: str) -> None:
    # Those of other tests, which end by themselves.
    before = lease_list(url)
    with fencepost.connect(url, ttl=LASTING) as session:
        for name in "abc":
            session.lock(name).acquire()
        assert len(lease_list(url) - before) == 1
    assert lease_list(url) - before == set()
    assert run_etcdctl(url, "get", "--prefix", "", "--keys-only").strip() == ""


def test_a_thousand_locks_are_kept_by_one_keep_alive_per_renewal(alone: int) -> None:
    with fencepost.connect(at(alone), ttl=LASTING) as session:
        grants = [session.lock(f"kept/{number}").acquire() for number in range(1_000)]
        kept, renewed = keep_alives(alone), session.statistics().renewals
        for _ in range(3):
            renew(session)
        # The keeper may be at it as well, at either end.
        assert keep_alives(alone) - kept <= session.statistics().renewals - renewed + 2
        assert all(grant.held for grant in grants)


def test_an_eviction_that_takes_nothing_leaves_no_lease(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with fencepost.connect(url, ttl=LASTING) as session, fencepost.connect(url, ttl=LASTING) as operator:
        operator.keeper()
        grant = session.lock("a").acquire()
        before = lease_list(url)
        lease_grant = engine_as(operator, EtcdEngine)._client.lease_grant

        def let_go_and_grant(lease: int, seconds: int) -> int:
            grant.release()
            granted: int = lease_grant(lease, seconds)
            return granted

        monkeypatch.setattr(engine_as(operator, EtcdEngine)._client, "lease_grant", let_go_and_grant)
        assert operator.evict("a") == ()
        assert lease_list(url) - before == set()


def test_an_eviction_that_is_refused_leaves_no_lease(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with fencepost.connect(url, ttl=LASTING) as session, fencepost.connect(url, ttl=LASTING) as operator:
        operator.keeper()
        grant = session.lock("a").acquire()
        before = lease_list(url)
        # More than etcd takes in one request.
        monkeypatch.setattr(operator, "label", "x" * 2_000_000)
        with pytest.raises(EngineError):
            operator.evict("a")
        assert lease_list(url) - before == set()
        assert grant.held


def test_an_eviction_is_kept_on_a_lease_of_its_own(url: str) -> None:
    with fencepost.connect(url, ttl=LASTING) as session, fencepost.connect(url, ttl=LASTING) as operator:
        operator.keeper()
        session.lock("a").acquire()
        before = lease_list(url)
        assert len(operator.evict("a")) == 1
        assert len(lease_list(url) - before) == 1
        assert len(operator.look("a").evictions) == 1
