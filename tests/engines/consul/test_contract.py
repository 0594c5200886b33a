"""The contract suite once more, on three servers, of which each session knows all."""

from functools import cache

import pytest

from fencepost.testing.consul import Cluster
from fencepost.testing.contract import CHAPTERS, Site
from fencepost.testing.contract.consul import TTL, ConsulLock


@cache
def shared_cluster() -> Cluster:
    """Started once, and stopped with the process that started it."""
    return Cluster().__enter__()


@pytest.fixture(params=["consul"])
def site() -> Site:
    cluster = shared_cluster()
    cluster.members[0].empty()
    url = f"consul://{cluster.hosts}?session_ttl_min=0.1"
    return Site(url, ttl=TTL, neighbours={"consul lock": lambda _, name: ConsulLock(cluster.members[1], name)})


for chapter in CHAPTERS:
    globals()[chapter.test_name] = chapter.tests
