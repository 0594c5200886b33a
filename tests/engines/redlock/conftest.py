from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from fencepost.testing.redis import port_of, redis_server
from fencepost.testing.server import ServerProcess

StartNodes = Callable[..., list[ServerProcess]]


@pytest.fixture
def start_nodes() -> Iterator[StartNodes]:
    """Start that many servers of this test's own, with these options."""
    with ExitStack() as stack:
        yield lambda count, *options: [stack.enter_context(redis_server(*options)) for _ in range(count)]


@pytest.fixture
def nodes(start_nodes: StartNodes) -> list[ServerProcess]:
    return start_nodes(5)


@pytest.fixture
def url(nodes: list[ServerProcess]) -> str:
    return url_of(nodes)


def url_of(nodes: list[ServerProcess], options: str = "") -> str:
    return f"redlock://{','.join(f'127.0.0.1:{port_of(node)}' for node in nodes)}{options}"
