"""Three members, of which some die, stop, or are cut off, under traffic."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

import fencepost
from fencepost import Lost, Unavailable, Uncertain
from fencepost.testing.condition import until
from fencepost.testing.etcd import Cluster, packaged_etcd
from fencepost.testing.proxy import Proxy
from tests.support.etcd.meter import watchers
from tests.support.etcd.traffic import traffic

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

# Of those whose lease ends in the test. A call has a third of it.
TTL = 4.0
LASTING = 60.0
# Of those who find out that a member does not answer: after a third of it, or two.
HALTING = 6.0
# For what comes within seconds, on a machine that is busy with something else.
PATIENCE = 60.0


@pytest.fixture(scope="module")
def packaged() -> Iterator[Cluster]:
    with Cluster(binary=packaged_etcd()) as cluster:
        yield cluster


def at(*ports: int) -> str:
    return f"etcd://{','.join(f'127.0.0.1:{port}' for port in ports)}"


def test_a_lock_taken_at_one_member_is_seen_at_every_other(cluster: Cluster) -> None:
    tokens = []
    with ExitStack() as stack:
        sessions = [stack.enter_context(fencepost.connect(at(port), ttl=LASTING)) for port in cluster.ports]
        for _ in range(10):
            for one in sessions:
                with one.lock("a") as grant:
                    tokens.append(grant.token)
                    for other in sessions:
                        assert [each.claim.token for each in other.look("a").holders] == [grant.token]
                        assert other.lock("a").try_acquire() is None
                for other in sessions:
                    assert other.look("a").holders == ()
    assert tokens == sorted(set(tokens))


def test_the_leader_is_killed_and_comes_back(cluster: Cluster) -> None:
    with traffic(cluster.url, ttl=TTL) as going:
        leader = cluster.leader()
        cluster.servers[leader].kill()
        going.flows()
        cluster.servers[leader].start()
        going.flows()


def test_the_leader_stops_and_goes_on(cluster: Cluster) -> None:
    with traffic(cluster.url, ttl=TTL) as going:
        leader = cluster.leader()
        cluster.servers[leader].pause()
        going.flows()
        # It wakes up, takes itself for the leader still, and finds old requests at its door.
        cluster.servers[leader].resume()
        going.flows(10)


def test_a_follower_stops_and_is_restarted(cluster: Cluster) -> None:
    with traffic(cluster.url, ttl=TTL) as going:
        follower = (cluster.leader() + 1) % 3
        cluster.servers[follower].pause()
        going.flows()
        cluster.servers[follower].kill()
        cluster.servers[follower].start()
        going.flows()


def test_without_a_majority_nothing_is_granted_and_holders_are_told_in_time(cluster: Cluster) -> None:
    with fencepost.connect(cluster.url, ttl=TTL) as holder, fencepost.connect(cluster.url, ttl=TTL) as other:
        grant = holder.lock("a").acquire()
        other.lock("b").acquire().release()
        for number in (0, 1):
            cluster.servers[number].kill()
        with pytest.raises((Unavailable, Uncertain)):
            other.lock("c").acquire(timeout=TTL / 3)
        assert grant.lost.wait(PATIENCE)
        with pytest.raises(Lost):
            grant.check()
        for number in (0, 1):
            cluster.servers[number].start()
        new = other.lock("a").acquire(timeout=PATIENCE)
        assert new.token > grant.token
        until(lambda: len(other.look("a").holders) == 1)


def test_traffic_stops_with_the_majority_and_goes_on_with_it(cluster: Cluster) -> None:
    with traffic(cluster.url, ttl=2) as going:
        leader = cluster.leader()
        others = [number for number in range(3) if number != leader]
        for number in others:
            cluster.servers[number].pause()
        going.stands_still()
        for number in others:
            cluster.servers[number].resume()
        going.flows()


def test_a_client_at_a_member_cut_off_from_the_rest_goes_to_another(cluster: Cluster) -> None:
    minority = (cluster.leader() + 1) % 3
    others = [port for port in cluster.ports if port != cluster.ports[minority]]
    with fencepost.connect(at(cluster.ports[minority], *others), ttl=LASTING) as session:
        grant = session.lock("a").acquire()
        cluster.servers[minority].pause()
        # A renewal is not answered there, and the next one elsewhere is.
        until(session.keeper()._renew, PATIENCE)
        session.lock("b").acquire(timeout=PATIENCE).release()
        assert grant.held
        grant.release()
        cluster.servers[minority].resume()


@pytest.mark.parametrize("flavour", ["sync", "async"])
async def test_a_waiter_whose_member_stops_hears_of_its_grant_from_another(
    cluster_alone: Cluster, flavour: str
) -> None:
    cluster = cluster_alone
    stopped = (cluster.leader() + 1) % 3
    others = [port for port in cluster.ports if port != cluster.ports[stopped]]
    there, here = at(cluster.ports[stopped], *others), at(*others)
    with fencepost.connect(here, ttl=LASTING) as first, fencepost.connect(there, ttl=HALTING) as second:
        async with fencepost.connect_async(there, ttl=HALTING) as asecond:
            held = first.lock("a").acquire()

            async def acquire() -> int:
                if flavour == "sync":
                    return (await asyncio.to_thread(second.lock("a").acquire, timeout=PATIENCE)).token
                return (await asecond.lock("a").acquire(timeout=PATIENCE)).token

            waiting = asyncio.create_task(acquire())
            await asyncio.to_thread(until, lambda: watchers(cluster.ports[stopped]) == 1)
            assert [watchers(port) for port in others] == [0, 0]
            cluster.servers[stopped].pause()
            await asyncio.to_thread(until, lambda: sum(watchers(port) for port in others) == 1, PATIENCE)
            held.release()
            assert await waiting > held.token
            cluster.servers[stopped].resume()


def test_a_client_that_can_reach_nobody_is_told_in_time_and_leaves_nothing(cluster: Cluster) -> None:
    with Proxy(cluster.ports[0]) as proxy, fencepost.connect(cluster.url, ttl=LASTING, holder="other") as other:
        session = fencepost.connect(at(proxy.port), ttl=TTL, holder="cut off")
        grant = session.lock("a").acquire()
        waiting = threading.Thread(target=_try, args=[session, "b"])
        held = other.lock("b").acquire()
        waiting.start()
        until(lambda: other.look("b").waiters)
        proxy.cut()
        new = other.lock("a").acquire(timeout=PATIENCE)
        assert not grant.held
        assert new.token > grant.token
        waiting.join(PATIENCE)
        until(lambda: not other.look("b").waiters, PATIENCE)
        held.release()
        proxy.heal()
        session.close()


def _try(session: fencepost.Session, name: str) -> None:
    with pytest.raises((Unavailable, Uncertain)):
        session.lock(name).acquire(timeout=PATIENCE)


@pytest.mark.parametrize("flavour", ["sync", "async"])
async def test_the_packaged_etcd_survives_the_same(packaged: Cluster, flavour: str) -> None:
    packaged.repair()
    leader = packaged.leader()
    if flavour == "sync":
        with fencepost.connect(packaged.url, ttl=LASTING) as session:
            before = session.lock("a").acquire()
            before.release()
            packaged.servers[leader].kill()
            after = session.lock("a").acquire(timeout=PATIENCE)
            assert after.token > before.token
    else:
        async with fencepost.connect_async(packaged.url, ttl=LASTING) as asession:
            first = await asession.lock("a").acquire()
            await first.release()
            packaged.servers[leader].kill()
            second = await asession.lock("a").acquire(timeout=PATIENCE)
            assert second.token > first.token
