# Generated from tests/engines/zookeeper/_async/test_outage.py by tools/unasync.py. Do not edit: run `make gen`.
"""Real ensembles that lose members: nothing is granted twice, holders are told in time, nobody is left in a line."""

import pytest

from fencepost import Unavailable, Uncertain
from fencepost.primitives._sync.connect import connect
from fencepost.testing.contract._sync.attempt import until
from fencepost.testing.zookeeper import Ensemble
from tests.support.zookeeper._sync.patience import ENDING, LASTING, PATIENCE, apart
from tests.support.zookeeper._sync.traffic import Traffic
from tests.support.zookeeper.observer import Observer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def test_a_killed_leader_grants_nothing_twice_and_stops_nobody_for_long(ensemble: Ensemble) -> None:
    with Traffic(ensemble.url) as traffic:
        ensemble.leader().kill()
        traffic.until_granted(8)
    traffic.check()


def test_a_stopped_leader_grants_nothing_twice(ensemble: Ensemble) -> None:
    with Traffic(ensemble.url) as traffic:
        leader = ensemble.leader()
        leader.pause()
        traffic.until_granted(8)
        leader.resume()
        traffic.until_granted(8)
    traffic.check()


def test_a_stopped_follower_stops_nobody_for_long(ensemble: Ensemble) -> None:
    with Traffic(ensemble.url) as traffic:
        follower = ensemble.followers()[0]
        follower.pause()
        traffic.until_granted(8)
        follower.resume()
        traffic.until_granted(8)
    traffic.check()


def test_members_are_restarted_one_after_another(ensemble: Ensemble) -> None:
    with Traffic(ensemble.url) as traffic:
        for server in ensemble.servers:
            server.kill()
            apart(server.start)
            apart(ensemble.until_serving)
            traffic.until_granted(4)
    traffic.check()


def test_a_holder_outlives_the_leader_with_its_lock_and_token(ensemble: Ensemble) -> None:
    with connect(f"{ensemble.url}/outlive", ttl=LASTING) as session:
        grant = session.lock("a").acquire()
        ensemble.leader().kill()
        apart(lambda: ensemble.until_serving(2))
        until((session.keeper())._renew, PATIENCE)
        assert grant.held
        with connect(f"{ensemble.url}/outlive", ttl=LASTING) as other:
            assert other.lock("a").try_acquire() is None
            assert [each.claim.token for each in (other.look("a")).holders] == [grant.token]
        grant.release()


def test_without_a_majority_nothing_is_granted_and_holders_are_told_in_time(ensemble: Ensemble) -> None:
    with (
        connect(f"{ensemble.url}/majority", ttl=ENDING, holder="first") as first,
        connect(f"{ensemble.url}/majority", ttl=ENDING, holder="second") as second,
    ):
        old = first.lock("a").acquire()
        second.keeper()
        stopped = [ensemble.leader(), ensemble.followers()[0]]
        for server in stopped:
            server.kill()
        with pytest.raises((Unavailable, Uncertain)):
            second.lock("b").acquire(timeout=ENDING / 3)
        assert old.lost.wait(PATIENCE)
        for server in stopped:
            apart(server.start)
        apart(ensemble.until_serving)
        with second.lock("a", timeout=PATIENCE) as new:
            assert new.token > old.token
            assert not old.held
    with Observer(ensemble.leader()) as observer:
        assert observer.nodes("/majority/a") == observer.nodes("/majority/b") == []


def test_asking_without_a_majority_is_unavailable_and_leaves_nothing(ensemble: Ensemble) -> None:
    for server in ensemble.servers[1:]:
        server.kill()
    session = connect(f"{ensemble.url}/alone", ttl=ENDING)
    with pytest.raises(Unavailable, match="zookeeper at "):
        session.lock("a").acquire(timeout=0)
    session.close()
    ensemble.repair()
    with Observer(ensemble.leader()) as observer:
        assert observer.nodes("/alone/a") == []
