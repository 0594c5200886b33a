"""Three members, of which some die, stop, or are cut off, under traffic."""

import asyncio
import threading
import time

import pytest

import fencepost
from fencepost import Lost, Unavailable, Uncertain
from fencepost.testing.condition import until
from fencepost.testing.etcd import Cluster, packaged_etcd
from fencepost.testing.proxy import Proxy
from tests.support.etcd.meter import watchers
from tests.support.etcd.traffic import traffic

pytestmark = pytest.mark.calm

TTL = 3.0


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
        assert grant.lost.wait(TTL * 2)
        with pytest.raises(Lost):
            grant.check()
        for number in (0, 1):
            cluster.servers[number].start()
        new = other.lock("a").acquire(timeout=TTL * 4 + 10)
        assert new.token > grant.token
        until(lambda: len(other.look("a").holders) == 1)


def test_traffic_stops_with_the_majority_and_goes_on_with_it(cluster: Cluster) -> None:
    with traffic(cluster.url, ttl=TTL) as going:
        leader = cluster.leader()
        others = [number for number in range(3) if number != leader]
        for number in others:
            cluster.servers[number].pause()
        # What was under way when they stopped may still end; then there is silence.
        time.sleep(TTL / 3)
        before = len(going.held)
        time.sleep(TTL)
        assert len(going.held) <= before + 1
        for number in others:
            cluster.servers[number].resume()
        going.flows()


def test_a_client_at_a_member_cut_off_from_the_rest_goes_to_another(cluster: Cluster) -> None:
    minority = (cluster.leader() + 1) % 3
    ports = [cluster.ports[minority], *(port for port in cluster.ports if port != cluster.ports[minority])]
    url = f"etcd://{','.join(f'127.0.0.1:{port}' for port in ports)}"
    with fencepost.connect(url, ttl=TTL) as session:
        grant = session.lock("a").acquire()
        cluster.servers[minority].pause()
        assert not grant.lost.wait(TTL * 1.5)
        session.lock("b").acquire(timeout=TTL).release()
        grant.release()
        cluster.servers[minority].resume()


@pytest.mark.parametrize("flavour", ["sync", "async"])
async def test_a_waiter_whose_member_stops_hears_of_its_grant_from_another(cluster: Cluster, flavour: str) -> None:
    stopped = (cluster.leader() + 1) % 3
    others = [port for port in cluster.ports if port != cluster.ports[stopped]]
    there = f"etcd://{','.join(f'127.0.0.1:{port}' for port in (cluster.ports[stopped], *others))}"
    here = f"etcd://{','.join(f'127.0.0.1:{port}' for port in others)}"
    with fencepost.connect(here, ttl=TTL) as first, fencepost.connect(there, ttl=TTL) as second:
        async with fencepost.connect_async(there, ttl=TTL) as asecond:
            held = first.lock("a").acquire()

            async def acquire() -> int:
                if flavour == "sync":
                    return (await asyncio.to_thread(second.lock("a").acquire, timeout=30)).token
                return (await asecond.lock("a").acquire(timeout=30)).token

            waiting = asyncio.create_task(acquire())
            await asyncio.to_thread(until, lambda: first.look("a").waiters)
            assert [watchers(port) for port in others] == [0, 0]
            cluster.servers[stopped].pause()
            await asyncio.to_thread(until, lambda: sum(watchers(port) for port in others) == 1)
            held.release()
            assert await waiting > held.token
            cluster.servers[stopped].resume()


def test_a_client_that_can_reach_nobody_is_told_in_time_and_leaves_nothing(cluster: Cluster) -> None:
    with Proxy(cluster.ports[0]) as proxy, fencepost.connect(cluster.url, ttl=TTL, holder="other") as other:
        session = fencepost.connect(f"etcd://127.0.0.1:{proxy.port}", ttl=TTL, holder="cut off")
        grant = session.lock("a").acquire()
        waiting = threading.Thread(target=lambda: _try(session, "b"))
        held = other.lock("b").acquire()
        waiting.start()
        until(lambda: other.look("b").waiters)
        proxy.cut()
        new = other.lock("a").acquire(timeout=TTL * 4 + 5)
        assert not grant.held
        assert new.token > grant.token
        waiting.join(TTL * 4 + 5)
        until(lambda: not other.look("b").waiters, TTL * 4 + 5)
        held.release()
        proxy.heal()
        session.close()


def _try(session: fencepost.Session, name: str) -> None:
    with pytest.raises((Unavailable, Uncertain)):
        session.lock(name).acquire(timeout=TTL * 3)


@pytest.mark.parametrize("flavour", ["sync", "async"])
async def test_the_packaged_etcd_survives_the_same(flavour: str) -> None:
    with Cluster(binary=packaged_etcd()) as cluster:
        leader = cluster.leader()
        if flavour == "sync":
            with fencepost.connect(cluster.url, ttl=TTL) as session:
                before = session.lock("a").acquire()
                before.release()
                cluster.servers[leader].kill()
                after = session.lock("a").acquire(timeout=TTL * 4)
                assert after.token > before.token
        else:
            async with fencepost.connect_async(cluster.url, ttl=TTL) as asession:
                first = await asession.lock("a").acquire()
                await first.release()
                cluster.servers[leader].kill()
                second = await asession.lock("a").acquire(timeout=TTL * 4)
                assert second.token > first.token
