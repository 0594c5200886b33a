from collections.abc import Iterator
from functools import cache

import pytest

from fencepost.testing.contract.postgresql import END_ALL
from fencepost.testing.postgresql import (
    USER,
    PostgresqlServer,
    port_of,
    postgresql_server,
    query,
    shared_server,
)
from fencepost.testing.server import ServerProcess

SCHEMES = ("postgresql", "postgresql+advisory")


def at(port: int, scheme: str = "postgresql", options: str = "", user: str = USER, database: str = "postgres") -> str:
    return f"{scheme}://{user}@127.0.0.1:{port}/{database}{options}"


def empty(port: int) -> None:
    query(port, END_ALL)
    query(port, "DROP SCHEMA IF EXISTS fencepost CASCADE")


@pytest.fixture
def port() -> Iterator[int]:
    """Of the server that all tests of this process share, without our schema and without anybody else.

    What a test makes of the schema is taken away again: no other test of the process expects a schema that is not ours.
    """
    port = shared_server()
    empty(port)
    yield port
    empty(port)


@cache
def harmed_server() -> PostgresqlServer:
    """A second one that all tests of this process share: making its files takes longer than a restart."""
    server = postgresql_server()
    server.start()
    return server


@pytest.fixture
def server() -> Iterator[ServerProcess]:
    """A server without our schema. Whoever stops or kills it need not mend it."""
    server = harmed_server()
    query(server.port, "DROP SCHEMA IF EXISTS fencepost CASCADE")
    yield server
    if server.running:
        server.resume()
    else:
        server.start()


@pytest.fixture(params=SCHEMES)
def scheme(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture
def url(port: int, scheme: str) -> str:
    return at(port, scheme)


__all__ = ["at", "port", "port_of", "scheme", "server", "url"]
