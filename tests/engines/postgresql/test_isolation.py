"""Databases whose transactions are by default at another level than the one that locks need."""

import threading
from collections.abc import Iterator

import psycopg
import pytest

import fencepost
from fencepost import Refused
from fencepost.engines.postgresql._async.engine import AsyncPostgresqlEngine
from fencepost.engines.postgresql.advisory._async.engine import AsyncAdvisoryEngine
from fencepost.engines.postgresql.query import Query, value
from fencepost.testing.condition import until
from fencepost.testing.contract.postgresql import END_ALL
from fencepost.testing.postgresql import USER, connect, query, shared_pgbouncer

from .conftest import at

# By hand: the schema's own function is refused above READ COMMITTED.
LATCH = """SELECT pg_advisory_xact_lock(1717923427, hashtext('"fencepost".a'))"""
LEVEL = Query("level", "SELECT current_setting('transaction_isolation')")
MEND = "ALTER ROLE … SET default_transaction_isolation = 'read committed'"
IN_LINE = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"


@pytest.fixture(params=[("DATABASE postgres", "repeatable read"), (f"ROLE {USER}", "serializable")], ids=["rr", "s"])
def strict(request: pytest.FixtureRequest, port: int) -> Iterator[int]:
    """The port of a server where whoever comes from now on has that level, unless it says otherwise."""
    of, level = request.param
    query(port, f"ALTER {of} SET default_transaction_isolation = '{level}'")
    yield port
    query(port, f"ALTER {of} RESET default_transaction_isolation")
    query(port, END_ALL)


def test_two_who_ask_at_the_same_moment_do_not_both_get_it(strict: int) -> None:
    got: list[fencepost.Grant | None] = []
    with (
        fencepost.connect(at(strict), ttl=300) as first,
        fencepost.connect(at(strict), ttl=300) as second,
        connect(strict) as keeper,
    ):
        for session in (first, second):
            session.lock("warm").acquire().release()
        keeper.execute("BEGIN")
        keeper.execute(LATCH)
        askers = [
            threading.Thread(target=lambda each=each: got.append(each.lock("a").try_acquire()))
            for each in (first, second)
        ]
        for asker in askers:
            asker.start()
        until(lambda: query(strict, IN_LINE) == [(2,)])
        keeper.execute("COMMIT")
        for asker in askers:
            asker.join(60)
        assert sorted(each is None for each in got) == [False, True]


async def test_every_connection_of_a_session_says_otherwise(strict: int, scheme: str) -> None:
    async with fencepost.connect_async(at(strict, scheme), ttl=300) as session:
        async with session.lock("a"):
            await session.look("a")
        engine = session.engine
        assert isinstance(engine, AsyncPostgresqlEngine | AsyncAdvisoryEngine)
        connections = [*engine._store._pool._free]
        for lease in getattr(engine, "_leases", {}).values():
            connections += [hold.connection for hold in lease.holds]
        assert connections
        for connection in connections:
            connection.pooled = False
            assert value(await connection.call(LEVEL)) == b"read committed"


def test_behind_a_pooler_which_is_not_ours_to_set_it_is_refused(strict: int) -> None:
    pooler = shared_pgbouncer().port
    fencepost.connect(at(strict), ttl=300).close()
    query(strict, END_ALL)

    def answers() -> bool:
        try:
            return query(pooler, "SELECT 1") == [(1,)]
        except psycopg.OperationalError:
            return False

    until(answers)
    session = fencepost.connect(at(pooler), ttl=300)
    with pytest.raises(Refused, match=MEND):
        session.lock("a").acquire(timeout=60)
    with pytest.raises(Refused, match=MEND):
        session.rate_limit("a", 1, per=1.0).acquire()
    session.close()
