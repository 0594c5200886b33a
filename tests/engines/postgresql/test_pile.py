"""Asks that nobody waits for any more: they do not pile up at a server that can not answer them."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

import fencepost
from fencepost import Unavailable
from fencepost.core.claim import Ask
from fencepost.core.url import parse_url
from fencepost.engines.postgresql._sync.store import Store
from fencepost.engines.postgresql.query import Query, bound
from fencepost.testing.condition import until
from fencepost.testing.postgresql import connect as sql_client
from fencepost.testing.postgresql import query, shared_pgbouncer
from tests.support.patience import connect, connect_async

from .conftest import at

STUCK = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = 'postgres'"
SETTING = Query("setting", "SELECT current_setting($1)")
PATIENCE = 0.5


@contextmanager
def kept(port: int, table: str) -> Iterator[None]:
    """An administrator has the table to himself, as in VACUUM FULL."""
    with sql_client(port) as administrator, administrator.transaction():
        administrator.execute(f"LOCK TABLE fencepost.{table} IN ACCESS EXCLUSIVE MODE".encode())
        yield


def make_schema(port: int) -> None:
    with fencepost.connect(at(port), ttl=300) as session:
        session.lock("warm").acquire(timeout=60).release()


def nobody_is_stuck(port: int) -> bool:
    return query(port, STUCK) == [(0,)]


@pytest.fixture
def pooler(port: int) -> int:
    """Of one that answers, before a server with a schema."""
    make_schema(port)
    pooler = shared_pgbouncer().port

    def answers() -> bool:
        try:
            return query(pooler, "SELECT 1") == [(1,)]
        except psycopg.OperationalError:
            return False

    until(answers)
    return pooler


def test_an_ask_that_was_given_up_leaves_nobody_waiting_at_the_server(port: int) -> None:
    with connect(at(port), ttl=300, patience=PATIENCE) as session:
        session.lock("warm").acquire(timeout=60).release()
        request = session.keeper().request((Ask("a"),))
        with kept(port, "claim"):
            for _ in range(3):
                with pytest.raises(Unavailable, match="did not answer"):
                    session.engine.claim(request, wait=True)
            until(lambda: nobody_is_stuck(port))
        session.engine.withdraw(request)


async def test_a_task_that_gave_up_leaves_nobody_waiting_at_the_server(port: int) -> None:
    async with connect_async(at(port), ttl=300, patience=PATIENCE) as session:
        await (await session.lock("warm").acquire(timeout=60)).release()
        request = (await session.keeper()).request((Ask("a"),))
        with kept(port, "claim"):
            for _ in range(3):
                with pytest.raises(Unavailable, match="did not answer"):
                    await session.engine.claim(request, wait=True)
            await asyncio.to_thread(until, lambda: nobody_is_stuck(port))
        await session.engine.withdraw(request)


def test_nobody_who_comes_new_is_left_waiting_for_the_version(port: int, scheme: str) -> None:
    make_schema(port)
    session = connect(at(port, scheme), ttl=300, patience=PATIENCE)
    with kept(port, "version"):
        with pytest.raises(Unavailable, match="did not answer"):
            session.lock("a").try_acquire()
        until(lambda: nobody_is_stuck(port))
    session.close()


def test_a_new_advisory_lease_that_was_given_up_leaves_nobody_waiting(port: int) -> None:
    make_schema(port)
    session = connect(at(port, "postgresql+advisory"), ttl=300, patience=PATIENCE)
    with kept(port, "connection"):
        with pytest.raises(Unavailable, match="did not answer"):
            session.lock("a").try_acquire()
        until(lambda: nobody_is_stuck(port))
    session.close()


def test_behind_a_pooler_an_ask_that_was_given_up_ends_by_itself(port: int, pooler: int) -> None:
    with connect(at(pooler), ttl=300, patience=PATIENCE) as session:
        session.lock("warm").acquire(timeout=60).release()
        request = session.keeper().request((Ask("a"),))
        with kept(port, "claim"):
            with pytest.raises(Unavailable):
                session.engine.claim(request, wait=True)
            until(lambda: nobody_is_stuck(port))
        session.engine.withdraw(request)


def test_a_wait_that_the_server_has_ended_may_be_tried_again(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """On its own connections and on those of a pooler."""
    store = Store(parse_url(at(port)), 60.0)
    asked = Query("asked", "SELECT count(*) FROM fencepost.claim")
    for setting in ("lock_timeout", "statement_timeout"):
        store.value(Query(setting, f"SELECT set_config('{setting}', '50ms', false)"))
        with kept(port, "claim"), pytest.raises(Unavailable, match="timeout"):
            store.call(asked)
        store.value(Query(f"no {setting}", f"SELECT set_config('{setting}', '0', false)"))
    store.close()


def test_the_server_waits_longer_than_we_do(port: int) -> None:
    store = Store(parse_url(at(port)), 7.0)
    for setting in (b"lock_timeout", b"statement_timeout"):
        assert store.value(SETTING, setting) == b"8s"
    assert store.value(SETTING, b"client_connection_check_interval") == b"500ms"
    store.close()


@pytest.mark.unit
@pytest.mark.parametrize(("patience", "milliseconds"), [(0.05, 1050), (7.0, 8000), (1e9, 2**31 - 1)])
def test_the_time_that_a_server_has_is_one_that_it_can_keep(patience: float, milliseconds: int) -> None:
    assert bound(patience) == milliseconds
