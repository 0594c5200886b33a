"""The contract once more, on three members of the current etcd, where they can differ from one."""

import pytest

from fencepost.testing.contract import Site
from fencepost.testing.contract.etcd import TTL, EtcdctlLock
from fencepost.testing.etcd import empty, shared_cluster
from tests.support.ensemble import EnsembleSite, chapters, rotations

pytestmark = pytest.mark.slow


@pytest.fixture(params=["etcd"])
def site() -> Site:
    cluster = shared_cluster()
    empty(0, cluster.url)
    hosts = [f"127.0.0.1:{port}" for port in cluster.ports]
    return EnsembleSite([f"etcd://{each}" for each in rotations(hosts)], ttl=TTL, neighbours={"etcdctl": EtcdctlLock})


for chapter in chapters():
    globals()[chapter.test_name] = chapter.tests
