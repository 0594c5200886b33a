"""The contract once more, on three servers, where they can differ from one. Each session knows all of them."""

import pytest

from fencepost.testing.consul import shared_cluster
from fencepost.testing.contract import Site
from fencepost.testing.contract.consul import TTL, ConsulLock
from tests.support.ensemble import EnsembleSite, chapters, rotations

pytestmark = pytest.mark.slow


@pytest.fixture(params=["consul"])
def site() -> Site:
    cluster = shared_cluster()
    cluster.members[0].empty()
    urls = [f"consul://{each}?session_ttl_min=0.1" for each in rotations(cluster.hosts.split(","))]
    return EnsembleSite(urls, ttl=TTL, neighbours={"consul lock": lambda _, name: ConsulLock(cluster.members[1], name)})


for chapter in chapters():
    globals()[chapter.test_name] = chapter.tests
