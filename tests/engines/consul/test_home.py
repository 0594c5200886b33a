"""A session belongs to the node of the agent that opened it, and goes with that: its holder knows before anybody
else is granted what it held."""

import os
import signal
import threading
from collections.abc import Callable

import pytest

import fencepost
from fencepost.testing.condition import until
from fencepost.testing.consul import Agent, Cluster

from .conftest import LASTING, PATIENCE, at

# Long enough for a cluster to find that a server has died, and to remove it.
TTL = 12.0
# Of one that does not have to outlast anything.
SHORT = 3.0


def leaves(agent: Agent) -> None:
    assert agent.call("PUT", "/v1/agent/leave")[0] == 200


def dies(agent: Agent) -> None:
    agent.kill()


def is_told_to_end(agent: Agent) -> None:
    assert agent.pid is not None
    os.kill(agent.pid, signal.SIGTERM)


def check_the_holder_knows_first(home: str, other: str, ttl: float, go: Callable[[], None]) -> None:
    with fencepost.connect(home, ttl=ttl, holder="old") as one, fencepost.connect(other, ttl=LASTING) as two:
        old = one.lock("a").acquire()
        taken: list[fencepost.Grant] = []
        waiter = threading.Thread(target=lambda: taken.append(two.lock("a").acquire(timeout=PATIENCE)))
        waiter.start()
        until(lambda: two.look("a").waiters)
        go()
        waiter.join(PATIENCE)
        (new,) = taken
        assert not old.held
        assert new.granted_at > old._keeper.ends_at
        assert new.token > old.token


def test_a_session_that_is_ended_under_its_holder_keeps_its_locks_until_the_holder_knows(
    agent: Agent, url: str
) -> None:
    def end_it() -> None:
        (mine,) = [each for each in agent.sessions() if each["Name"].endswith(" old")]
        agent.call("PUT", f"/v1/session/destroy/{mine['ID']}")

    check_the_holder_knows_first(url, url, SHORT, end_it)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("go", [leaves, dies])
def test_a_server_goes_and_the_holder_that_came_by_it_knows_first(go: Callable[[Agent], None]) -> None:
    with Cluster(cleanup=True) as cluster:
        home, away = cluster.followers()[0], cluster.leader()
        # It renews at another agent, all the time.
        hosts = at(f"{home.port},127.0.0.1:{away.port}")
        check_the_holder_knows_first(hosts, at(away.port), TTL, lambda: go(home))


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("go", [leaves, is_told_to_end])
def test_an_agent_goes_in_good_order_and_the_holder_that_came_by_it_knows_first(go: Callable[[Agent], None]) -> None:
    with Cluster(cleanup=True) as cluster, cluster.client() as home:
        away = cluster.members[0]
        hosts = at(f"{home.port},127.0.0.1:{away.port}")
        check_the_holder_knows_first(hosts, at(away.port), SHORT, lambda: go(home))
