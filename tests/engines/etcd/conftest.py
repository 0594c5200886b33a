from collections.abc import Iterator

import pytest

from fencepost.testing.condition import until
from fencepost.testing.etcd import (
    UP,
    Cluster,
    built_etcd,
    empty,
    etcd_server,
    packaged_etcd,
    port_of,
    serves,
    shared_cluster,
    shared_server,
)
from fencepost.testing.server import ServerProcess

KINDS = {"packaged": packaged_etcd, "built": built_etcd}


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """Three members to be harmed: all up again, whatever a test did to them."""
    cluster = shared_cluster()
    cluster.repair()
    empty(0, cluster.url)
    yield cluster
    cluster.repair()


@pytest.fixture(scope="module")
def one() -> Iterator[ServerProcess]:
    with etcd_server() as server:
        yield server


@pytest.fixture
def server(one: ServerProcess) -> ServerProcess:
    """A server to be harmed: up again and empty, whatever the test before did to it."""
    if one.running:
        one.resume()
    else:
        one.start()
    port = port_of(one)
    until(lambda: serves(f"etcd://127.0.0.1:{port}"), UP)
    empty(port)
    return one


@pytest.fixture
def alone() -> Iterator[int]:
    """The port of a server that nobody else has ever talked to: for what it counts."""
    with etcd_server() as server:
        until(lambda: serves(f"etcd://127.0.0.1:{port_of(server)}"), UP)
        yield port_of(server)


@pytest.fixture
def cluster_alone() -> Iterator[Cluster]:
    with Cluster(binary=built_etcd()) as cluster:
        yield cluster


@pytest.fixture
def port() -> int:
    """Of the server that all tests share, emptied."""
    port = shared_server()
    empty(port)
    return port


@pytest.fixture
def url(port: int) -> str:
    return f"etcd://127.0.0.1:{port}"
