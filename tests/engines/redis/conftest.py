from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from fencepost.testing.redis import port_of, redis_server
from fencepost.testing.server import ServerProcess

StartServer = Callable[..., ServerProcess]


@pytest.fixture
def start_server() -> Iterator[StartServer]:
    """Start a server of this test's own, with these options."""
    with ExitStack() as stack:
        yield lambda *options, **named: stack.enter_context(redis_server(*options, **named))


@pytest.fixture
def server(start_server: StartServer) -> ServerProcess:
    return start_server()


@pytest.fixture
def url(server: ServerProcess) -> str:
    return f"redis://127.0.0.1:{port_of(server)}"
