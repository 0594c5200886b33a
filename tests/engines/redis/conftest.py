from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from fencepost.testing.redis import command, redis_server, shared_server
from fencepost.testing.server import ServerProcess

StartServer = Callable[..., ServerProcess]


@pytest.fixture
def port() -> int:
    """Of the server that all tests of this process share, emptied."""
    port = shared_server()
    command(port, "FLUSHALL")
    return port


@pytest.fixture
def url(port: int) -> str:
    return f"redis://127.0.0.1:{port}"


@pytest.fixture
def start_server() -> Iterator[StartServer]:
    """Start a server of this test's own, with these options."""
    with ExitStack() as stack:
        yield lambda *options, **named: stack.enter_context(redis_server(*options, **named))


@pytest.fixture
def server(start_server: StartServer) -> ServerProcess:
    """A server of this test's own, to be harmed."""
    return start_server()
