from collections.abc import Iterator

import pytest

from fencepost.testing.condition import until
from fencepost.testing.zookeeper import Ensemble, ZookeeperServer


@pytest.fixture
def server() -> Iterator[ZookeeperServer]:
    """A server of this test's own, to be harmed."""
    with ZookeeperServer() as server:
        until(lambda: server.mode, 30)
        yield server


@pytest.fixture
def url(server: ZookeeperServer) -> str:
    return f"zookeeper://127.0.0.1:{server.port}/locks"


@pytest.fixture(scope="module")
def three() -> Iterator[Ensemble]:
    with Ensemble() as ensemble:
        yield ensemble


@pytest.fixture
def ensemble(three: Ensemble) -> Ensemble:
    """Three servers, all up again whatever the test before did to them."""
    three.repair()
    return three
