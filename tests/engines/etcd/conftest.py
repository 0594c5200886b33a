import os
from collections.abc import Iterator

import pytest

from fencepost.testing.etcd import BUILT, Cluster, EtcdServer, built_etcd, etcd_server, packaged_etcd, port_of
from fencepost.testing.server import ServerProcess

KINDS = {"packaged": packaged_etcd, "built": built_etcd}
# The newer one where it was built: faults are handled differently there.
LATEST = "built" if os.access(BUILT / "bin" / "etcd", os.X_OK) else "packaged"


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster(binary=KINDS[LATEST]()) as cluster:
        yield cluster


@pytest.fixture
def server() -> Iterator[ServerProcess]:
    with etcd_server() as server:
        assert isinstance(server, EtcdServer)
        yield server


@pytest.fixture
def url(server: ServerProcess) -> str:
    return f"etcd://127.0.0.1:{port_of(server)}"
