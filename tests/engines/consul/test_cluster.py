"""Three servers: members die, stop and come back while both flavours contend for a lock."""

import threading
from collections.abc import Iterator

import pytest

import fencepost
from fencepost import FencepostError
from fencepost.testing.condition import until
from fencepost.testing.consul import Cluster
from tests.support.consul.traffic import Traffic

from .conftest import LASTING, PATIENCE

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

TTL = 4.0


@pytest.fixture
def url(cluster: Cluster) -> Iterator[str]:
    yield f"consul://{cluster.hosts}?session_ttl_min=0.1"
    cluster.repair()
    # Sessions that could not be closed end by themselves, and nothing of them stays.
    until(lambda: cluster.members[0].sessions() == [], PATIENCE)
    assert cluster.members[0].keys() == []


def test_a_lock_taken_at_one_member_is_seen_at_every_other(cluster: Cluster, url: str) -> None:
    at_each = [f"consul://127.0.0.1:{member.port}?session_ttl_min=0.1" for member in cluster.members]
    tokens = []
    for one in at_each:
        for other in at_each:
            with fencepost.connect(one, ttl=LASTING) as first, fencepost.connect(other, ttl=LASTING) as second:
                with first.lock("a") as grant:
                    tokens.append(grant.token)
                    assert second.lock("a").try_acquire() is None
                second.lock("a").acquire(timeout=0).release()
    assert tokens == sorted(set(tokens))


def test_the_leader_is_killed_and_comes_back(cluster: Cluster, url: str) -> None:
    with Traffic(url, ttl=TTL) as traffic:
        traffic.until_more()
        leader = cluster.leader()
        leader.kill()
        traffic.until_more()
        leader.start()
        traffic.until_more()
    traffic.check()


def test_the_leader_is_stopped_and_wakes_up_deposed(cluster: Cluster, url: str) -> None:
    with Traffic(url, ttl=TTL) as traffic:
        traffic.until_more()
        leader = cluster.leader()
        leader.pause()
        try:
            traffic.until_more()
        finally:
            leader.resume()
        traffic.until_more()
    traffic.check()


def test_a_minority_is_stopped_and_nothing_else_stops(cluster: Cluster, url: str) -> None:
    with Traffic(url, ttl=TTL) as traffic:
        traffic.until_more()
        follower = cluster.followers()[0]
        follower.pause()
        try:
            traffic.until_more(8)
        finally:
            follower.resume()
    traffic.check()


def test_without_a_majority_nothing_is_granted_and_holders_are_told_in_time(cluster: Cluster, url: str) -> None:
    with fencepost.connect(url, ttl=TTL) as session, fencepost.connect(url, ttl=TTL) as other:
        old = session.lock("a").acquire()
        down = [cluster.leader(), cluster.followers()[0]]
        for member in down:
            member.kill()
        lost = threading.Thread(target=old.lost.wait, args=[PATIENCE])
        lost.start()
        with pytest.raises(FencepostError):
            other.lock("a").acquire(timeout=TTL)
        lost.join(PATIENCE)
        assert old.lost.is_set()
        for member in down:
            member.start()
        cluster.settle()
        new = other.lock("a").acquire(timeout=PATIENCE)
        assert new.token > old.token
        assert not old.held
        new.release()


def test_tokens_go_on_after_every_member_was_restarted(cluster: Cluster, url: str) -> None:
    with fencepost.connect(url, ttl=TTL) as session:
        old = session.lock("a").acquire()
        old.release()
    for member in cluster.members:
        member.kill()
    for member in cluster.members:
        member.start()
    cluster.settle()
    with fencepost.connect(url, ttl=TTL) as session, session.lock("a", timeout=PATIENCE) as new:
        assert new.token > old.token
