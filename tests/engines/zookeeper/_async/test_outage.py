# Written by hand; the blocking twin under _sync is generated from it.
"""Real ensembles that lose members: nothing is granted twice, holders are told in time, nobody is left in a line."""

import pytest

from fencepost import Unavailable, Uncertain
from fencepost.primitives._async.connect import connect_async
from fencepost.testing.contract._async.attempt import until
from fencepost.testing.zookeeper import Ensemble
from tests.support.zookeeper._async.patience import ENDING, LASTING, PATIENCE, apart
from tests.support.zookeeper._async.traffic import AsyncTraffic
from tests.support.zookeeper.observer import Observer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


async def test_a_killed_leader_grants_nothing_twice_and_stops_nobody_for_long(ensemble: Ensemble) -> None:
    async with AsyncTraffic(ensemble.url) as traffic:
        ensemble.leader().kill()
        await traffic.until_granted(8)
    traffic.check()


async def test_a_stopped_leader_grants_nothing_twice(ensemble: Ensemble) -> None:
    async with AsyncTraffic(ensemble.url) as traffic:
        leader = ensemble.leader()
        leader.pause()
        await traffic.until_granted(8)
        leader.resume()
        await traffic.until_granted(8)
    traffic.check()


async def test_a_stopped_follower_stops_nobody_for_long(ensemble: Ensemble) -> None:
    async with AsyncTraffic(ensemble.url) as traffic:
        follower = ensemble.followers()[0]
        follower.pause()
        await traffic.until_granted(8)
        follower.resume()
        await traffic.until_granted(8)
    traffic.check()


async def test_members_are_restarted_one_after_another(ensemble: Ensemble) -> None:
    async with AsyncTraffic(ensemble.url) as traffic:
        for server in ensemble.servers:
            server.kill()
            await apart(server.start)
            await apart(ensemble.until_serving)
            await traffic.until_granted(4)
    traffic.check()


async def test_a_holder_outlives_the_leader_with_its_lock_and_token(ensemble: Ensemble) -> None:
    async with connect_async(f"{ensemble.url}/outlive", ttl=LASTING) as session:
        grant = await session.lock("a").acquire()
        ensemble.leader().kill()
        await apart(lambda: ensemble.until_serving(2))
        await until((await session.keeper())._renew, PATIENCE)
        assert grant.held
        async with connect_async(f"{ensemble.url}/outlive", ttl=LASTING) as other:
            assert await other.lock("a").try_acquire() is None
            assert [each.claim.token for each in (await other.look("a")).holders] == [grant.token]
        await grant.release()


async def test_without_a_majority_nothing_is_granted_and_holders_are_told_in_time(ensemble: Ensemble) -> None:
    async with (
        connect_async(f"{ensemble.url}/majority", ttl=ENDING, holder="first") as first,
        connect_async(f"{ensemble.url}/majority", ttl=ENDING, holder="second") as second,
    ):
        old = await first.lock("a").acquire()
        await second.keeper()
        stopped = [ensemble.leader(), ensemble.followers()[0]]
        for server in stopped:
            server.kill()
        with pytest.raises((Unavailable, Uncertain)):
            await second.lock("b").acquire(timeout=ENDING / 3)
        assert await old.lost.wait(PATIENCE)
        for server in stopped:
            await apart(server.start)
        await apart(ensemble.until_serving)
        async with second.lock("a", timeout=PATIENCE) as new:
            assert new.token > old.token
            assert not old.held
    with Observer(ensemble.leader()) as observer:
        assert observer.nodes("/majority/a") == observer.nodes("/majority/b") == []


async def test_asking_without_a_majority_is_unavailable_and_leaves_nothing(ensemble: Ensemble) -> None:
    for server in ensemble.servers[1:]:
        server.kill()
    session = connect_async(f"{ensemble.url}/alone", ttl=ENDING)
    with pytest.raises(Unavailable, match="zookeeper at "):
        await session.lock("a").acquire(timeout=0)
    await session.close()
    ensemble.repair()
    with Observer(ensemble.leader()) as observer:
        assert observer.nodes("/alone/a") == []
