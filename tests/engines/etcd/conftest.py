from collections.abc import Iterator

import pytest

from fencepost.testing.etcd import Cluster, built_etcd, etcd_server, packaged_etcd, port_of
from fencepost.testing.server import ServerProcess

KINDS = {"packaged": packaged_etcd, "built": built_etcd}


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """Of the newer etcd, where it was built."""
    with Cluster(binary=built_etcd()) as cluster:
        yield cluster


@pytest.fixture
def server() -> Iterator[ServerProcess]:
    with etcd_server() as server:
        yield server


@pytest.fixture
def url(server: ServerProcess) -> str:
    return f"etcd://127.0.0.1:{port_of(server)}"
