from collections.abc import Iterator

import pytest

from fencepost.testing.consul import Agent, Cluster, shared_agent


@pytest.fixture
def agent() -> Agent:
    """The shared agent, emptied."""
    agent = shared_agent()
    agent.empty()
    return agent


@pytest.fixture
def url(agent: Agent) -> str:
    return at(agent.port)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster() as cluster:
        yield cluster


def at(port: int | str, options: str = "") -> str:
    return f"consul://127.0.0.1:{port}?session_ttl_min=0.1{options}"
