from collections.abc import Iterator

import pytest

from fencepost.testing.condition import until
from fencepost.testing.zookeeper import UP, Ensemble, ZookeeperServer, shared_ensemble


@pytest.fixture(scope="session")
def one() -> Iterator[ZookeeperServer]:
    with ZookeeperServer() as server:
        yield server


@pytest.fixture
def server(one: ZookeeperServer) -> ZookeeperServer:
    """A server to be harmed: up again, whatever the test before did to it."""
    if one.running:
        one.resume()
    else:
        one.start()
    until(lambda: one.mode, UP)
    return one


@pytest.fixture
def ensemble() -> Iterator[Ensemble]:
    """Three servers to be harmed: all up again, whatever a test did to them."""
    ensemble = shared_ensemble()
    ensemble.repair()
    yield ensemble
    ensemble.repair()
