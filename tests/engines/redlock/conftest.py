from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache

import pytest

from fencepost.testing.redis import command, port_of, redis_server
from fencepost.testing.server import ServerProcess

StartNodes = Callable[..., list[ServerProcess]]


@cache
def kept_nodes() -> list[ServerProcess]:
    """Five servers that all tests of this process share."""
    servers = [redis_server() for _ in range(5)]
    for server in servers:
        server.start()
    return servers


@pytest.fixture
def nodes() -> Iterator[list[ServerProcess]]:
    """Five empty servers. Whoever stops, kills or empties them need not mend them."""
    servers = kept_nodes()
    for server in servers:
        command(port_of(server), "FLUSHALL")
    yield servers
    for server in servers:
        if server.running:
            server.resume()
        else:
            server.start()


@pytest.fixture
def start_nodes() -> Iterator[StartNodes]:
    """Start that many servers of this test's own, with these options."""
    with ExitStack() as stack:
        yield lambda count, *options: [stack.enter_context(redis_server(*options)) for _ in range(count)]


def url_of(nodes: list[ServerProcess], options: str = "") -> str:
    return f"redlock://{','.join(f'127.0.0.1:{port_of(node)}' for node in nodes)}{options}"
