"""Locks of the caller's own transaction."""

import threading
from collections.abc import Iterator

import psycopg
import pytest

import fencepost
from fencepost.sql import lock_rows, lock_rows_async, try_xact_lock, try_xact_lock_async, xact_lock, xact_lock_async
from fencepost.testing.condition import until
from fencepost.testing.postgresql import USER, connect, query, shared_server

from .conftest import at

WAITING = "SELECT pid FROM pg_locks WHERE NOT granted"
Plain = psycopg.Connection[tuple[object, ...]]


@pytest.fixture
def pair(port: int) -> Iterator[tuple[Plain, Plain]]:
    query(port, "DROP TABLE IF EXISTS job")
    query(port, "CREATE TABLE job (id int PRIMARY KEY, state text)")
    query(port, "INSERT INTO job VALUES (1, 'new'), (2, 'new'), (3, 'done')")
    with connect(port) as first, connect(port) as second:
        yield first, second


def test_a_transaction_holds_the_lock_to_its_end(pair: tuple[Plain, Plain]) -> None:
    first, second = pair
    with first.transaction():
        xact_lock(first, "a")
        with second.transaction():
            assert not try_xact_lock(second, "a")
            assert try_xact_lock(second, "b")
    with second.transaction():
        assert try_xact_lock(second, "a")


def test_whoever_waits_has_it_when_the_other_transaction_ends(port: int, pair: tuple[Plain, Plain]) -> None:
    first, second = pair
    had = threading.Event()

    def wait() -> None:
        with second.transaction():
            xact_lock(second, "a")
            had.set()

    waiter = threading.Thread(target=wait)
    with first.transaction():
        xact_lock(first, "a")
        waiter.start()
        until(lambda: query(port, WAITING))
        assert not had.is_set()
    assert had.wait(60)
    waiter.join(60)


def test_shared_locks_exclude_exclusive_ones_only(pair: tuple[Plain, Plain]) -> None:
    first, second = pair
    with first.transaction(), second.transaction():
        xact_lock(first, "a", shared=True)
        assert try_xact_lock(second, "a", shared=True)
        assert not try_xact_lock(second, "a")


def test_it_excludes_a_session_with_advisory_locks_and_the_other_way_round(
    port: int, pair: tuple[Plain, Plain]
) -> None:
    first, _ = pair
    with fencepost.connect(at(port, "postgresql+advisory")) as session:
        with first.transaction():
            xact_lock(first, "a")
            assert session.lock("a").try_acquire() is None
        with session.lock("a", timeout=60), first.transaction():
            assert not try_xact_lock(first, "a")


def test_without_a_transaction_it_says_so(pair: tuple[Plain, Plain]) -> None:
    with pytest.raises(ValueError, match="no transaction is open"):
        xact_lock(pair[0], "a")
    with pytest.raises(ValueError, match="no transaction is open"):
        lock_rows(pair[0], "job", {"id": 1})


def test_rows_are_locked_skipped_or_refused(pair: tuple[Plain, Plain]) -> None:
    first, second = pair
    with first.transaction(), second.transaction():
        assert lock_rows(first, "job", {"id": 1}) == [(1, "new")]
        assert lock_rows(second, "job", {"state": "new"}, if_locked="skip", order_by=["id"], limit=1) == [(2, "new")]
        with pytest.raises(fencepost.AcquireTimeout, match=r"a row of 'public.job' is locked by another transaction"):
            lock_rows(second, "public.job", {"id": 1}, if_locked="fail")
        # The transaction goes on.
        assert lock_rows(second, "job", {"id": 3}, if_locked="fail") == [(3, "done")]
        assert lock_rows(first, "job", {"id": 7}) == []


async def test_asynchronous_connections_do_the_same(port: int, pair: tuple[Plain, Plain]) -> None:
    first, _ = pair
    words = f"host=127.0.0.1 port={shared_server()} user={USER} dbname=postgres"
    async with await psycopg.AsyncConnection.connect(words) as other:
        with first.transaction():
            xact_lock(first, "a")
            assert not await try_xact_lock_async(other, "a")
            await xact_lock_async(other, "b")
            assert not try_xact_lock(first, "b")
            lock_rows(first, "job", {"id": 1})
            with pytest.raises(fencepost.AcquireTimeout):
                await lock_rows_async(other, "job", {"id": 1}, if_locked="fail")
            assert await lock_rows_async(other, "job", {}, if_locked="skip", order_by=["id"]) == [
                (2, "new"),
                (3, "done"),
            ]
        await other.rollback()
