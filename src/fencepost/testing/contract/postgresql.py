"""The sites of PostgreSQL, and plain SQL as the neighbour of its advisory locks."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from psycopg import Connection
from psycopg.rows import TupleRow

from fencepost.primitives._sync.connect import connect
from fencepost.testing import postgresql
from fencepost.testing.contract.site import Neighbour, Site

# A little longer than elsewhere: every connection is a process at the server, and takes its time on a busy machine.
TTL = 1.5
# What a test left running at the server, as a session that was cut off does, would stand in the way of the next.
END_ALL = (
    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database() "
    "AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
)
TABLES = ("lease", "claim", "eviction", "connection", "holding", "cell", "watcher", "meter")


class PlainSql:
    """`pg_advisory_lock` on one name, as any program may use it."""

    def __init__(self, port: int, connections: "list[Connection[TupleRow]]", site: Site, name: str) -> None:
        self._connection = postgresql.connect(port)
        connections.append(self._connection)
        self._name = name

    def try_acquire(self) -> bool:
        return self._ask("SELECT pg_try_advisory_lock(hashtextextended(%s, 0))")

    def release(self) -> None:
        assert self._ask("SELECT pg_advisory_unlock(hashtextextended(%s, 0))")

    def _ask(self, text: str) -> bool:
        row = self._connection.execute(text.encode(), [self._name]).fetchone()
        return row is not None and bool(row[0])


@contextmanager
def site(scheme: str) -> Iterator[Site]:
    """A database with our schema in it, emptied."""
    port = postgresql.shared_server()
    url = f"{scheme}://{postgresql.USER}@127.0.0.1:{port}/postgres"
    if not postgresql.query(port, "SELECT 1 FROM pg_namespace WHERE nspname = 'fencepost'"):
        with connect(url):
            pass
    postgresql.query(port, END_ALL)
    postgresql.query(port, f"TRUNCATE {', '.join(f'fencepost.{table}' for table in TABLES)}")
    connections: list[Connection[TupleRow]] = []
    neighbours: dict[str, Callable[[Site, str], Neighbour]] = {}
    if scheme == "postgresql+advisory":
        neighbours["pg_advisory_lock"] = partial(PlainSql, port, connections)
    try:
        yield Site(url, ttl=TTL, neighbours=neighbours)
    finally:
        for connection in connections:
            connection.close()
