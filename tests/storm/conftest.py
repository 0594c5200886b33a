"""Where storms are: every engine by its plainest scheme, and servers of our own where those are harmed."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import NamedTuple

import pytest

from fencepost.testing import consul, etcd, postgresql, redis
from fencepost.testing.binary import find_built
from fencepost.testing.condition import until
from fencepost.testing.contract import SITES, Site
from fencepost.testing.server import ServerProcess
from fencepost.testing.zookeeper import UP, ZookeeperServer

ENGINES = ("memory", "sqlite", "redis", "redlock", "etcd", "zookeeper", "consul", "postgresql", "postgresql+advisory")


class Place(NamedTuple):
    """`durable` servers know after a kill what they have answered before."""

    url: str
    ttl: float
    servers: list[ServerProcess]
    durable: bool = True


@pytest.fixture
def porcupine() -> str | None:
    """The second checker. Without it, storms are checked in Python alone.

    Where it is missing, one test of test_storm.py is skipped and says so. In CI it must be there.
    """
    try:
        return find_built("porcupine")
    except pytest.skip.Exception:
        return None


@pytest.fixture(params=ENGINES)
def site(request: pytest.FixtureRequest) -> Iterator[Site]:
    """An engine that shares its servers with other tests."""
    with SITES[request.param]() as site:
        yield site


def _redis(stack: ExitStack, count: int) -> list[ServerProcess]:
    durable = ("--appendonly", "yes", "--appendfsync", "always")
    return [stack.enter_context(redis.redis_server(*durable)) for _ in range(count)]


@contextmanager
def _one_redis() -> Iterator[Place]:
    with ExitStack() as stack:
        servers = _redis(stack, 1)
        yield Place(f"redis://127.0.0.1:{redis.port_of(servers[0])}", 1.2, servers)


@contextmanager
def _redlock() -> Iterator[Place]:
    with ExitStack() as stack:
        servers = _redis(stack, 3)
        hosts = ",".join(f"127.0.0.1:{redis.port_of(server)}" for server in servers)
        yield Place(f"redlock://{hosts}", 2.4, servers)


@contextmanager
def _etcd() -> Iterator[Place]:
    with etcd.etcd_server() as server:
        yield Place(f"etcd://127.0.0.1:{etcd.port_of(server)}", 2.0, [server])


@contextmanager
def _zookeeper() -> Iterator[Place]:
    with ZookeeperServer() as server:
        until(lambda: server.mode, UP)
        yield Place(f"zookeeper://127.0.0.1:{server.port}", 1.5, [server])


@contextmanager
def _consul() -> Iterator[Place]:
    with consul.Agent(consul.settings()) as agent:
        yield Place(f"consul://127.0.0.1:{agent.port}?session_ttl_min=0.1", 1.2, [agent], durable=False)


@contextmanager
def _postgresql() -> Iterator[Place]:
    with postgresql.postgresql_server() as server:
        yield Place(server.url, 1.5, [server])


# Not of advisory locks: their server frees them when it ends a connection, and their holder hears of it a moment later.
HARMED: dict[str, Callable[[], AbstractContextManager[Place]]] = {
    "redis": _one_redis,
    "redlock": _redlock,
    "etcd": _etcd,
    "zookeeper": _zookeeper,
    "consul": _consul,
    "postgresql": _postgresql,
}


@pytest.fixture(params=HARMED)
def harmed(request: pytest.FixtureRequest) -> Iterator[Place]:
    """An engine with servers of its own."""
    with HARMED[request.param]() as place:
        yield place
