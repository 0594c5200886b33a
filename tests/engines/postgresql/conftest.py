from collections.abc import Iterator

import pytest

from fencepost.testing.postgresql import USER, port_of, postgresql_server, query, shared_server
from fencepost.testing.server import ServerProcess

SCHEMES = ("postgresql", "postgresql+advisory")


def at(port: int, scheme: str = "postgresql", options: str = "", user: str = USER, database: str = "postgres") -> str:
    return f"{scheme}://{user}@127.0.0.1:{port}/{database}{options}"


@pytest.fixture
def port() -> int:
    """Of the server that all tests of this process share, without our schema."""
    port = shared_server()
    query(port, "DROP SCHEMA IF EXISTS fencepost CASCADE")
    return port


@pytest.fixture
def server() -> Iterator[ServerProcess]:
    """A server of this test's own."""
    with postgresql_server() as server:
        yield server


@pytest.fixture(params=SCHEMES)
def scheme(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture
def url(port: int, scheme: str) -> str:
    return at(port, scheme)


__all__ = ["at", "port", "port_of", "scheme", "server", "url"]
