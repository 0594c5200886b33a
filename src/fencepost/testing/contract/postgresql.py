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


# Of a claim, a column and what nobody of us writes into it. Of a connection, how long it may be idle.
CLAIMS = [
    ("mode", "'nonsense'"),
    ("token", "-1"),
    ("serial", "-1"),
    ("ticket", "-9223372036854775808"),
    ("part", "99"),
    ("weight", "-5"),
    ("note", "repeat('x', 100000)"),
    ("since", "'infinity'"),
]
CONNECTIONS = ["'NaN'", "'infinity'", "-1"]


def strangers(port: int, scheme: str) -> dict[str, Callable[[Site, str], None]]:
    if scheme == "postgresql+advisory":
        return {f"idle for {each}": partial(_leave_connection, port, ttl=each) for each in CONNECTIONS}
    return {f"{column} is {value}": partial(_leave_claim, port, column, value) for column, value in CLAIMS}


def _leave_claim(port: int, column: str, value: str, site: Site, name: str) -> None:
    claim = {"key": f"hashtextextended('{name}', 0)", "name": f"'{name}'", "ticket": "5", "token": "5"}
    claim |= {"holder": f"'stranger of {name}'", "serial": "1", "part": "0", "mode": "'exclusive'", "weight": "1"}
    claim |= {"most": "1", "note": "''", "since": "clock_timestamp()", column: value}
    for statement in (
        f"INSERT INTO fencepost.lease VALUES ('stranger of {name}', 'label', 'infinity', 'channel', 0)",
        f"INSERT INTO fencepost.claim ({', '.join(claim)}) VALUES ({', '.join(claim.values())})",
        f"SELECT pg_notify(channel, 'no message') FROM fencepost.lease WHERE id <> 'stranger of {name}'",
    ):
        postgresql.query(port, statement)


def _leave_connection(port: int, site: Site, name: str, ttl: str) -> None:
    """What is told of a connection that has the lock, and a message to everybody who listens."""
    for statement in (
        f"INSERT INTO fencepost.connection SELECT pid, backend_start, 'h', 'l', {ttl} FROM pg_stat_activity "
        "WHERE datname = current_database() ON CONFLICT (pid) DO UPDATE SET ttl = excluded.ttl",
        f"INSERT INTO fencepost.holding SELECT pid, '{name}', '', -1 FROM fencepost.connection",
        "INSERT INTO fencepost.eviction (name, token, holder, evicted, by, at) "
        f"VALUES ('{name}', -1, '', '', '', 'infinity')",
        "SELECT pg_notify('fencepost_' || holder, 'no token') FROM fencepost.connection",
    ):
        postgresql.query(port, statement)


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
        yield Site(url, ttl=TTL, neighbours=neighbours, strangers=strangers(port, scheme))
    finally:
        for connection in connections:
            connection.close()
