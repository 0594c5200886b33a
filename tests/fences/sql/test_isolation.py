"""What is particular to fences in a server's database: isolation levels, waiting, and rows that hold their own mark."""

import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pymysql
import pytest

from fencepost.errors import FencepostError, Stale
from fencepost.fences.sql import RowFence, SqlFence
from fencepost.fences.sql._sync import mark
from fencepost.testing.condition import until
from tests.support.fences.database import (
    DatabasePlace,
    DjangoMariadbPlace,
    DjangoPlace,
    MariadbPlace,
    PostgresqlPlace,
    waits,
)
from tests.support.fences.place import interrupted

PLACES = {"postgresql": PostgresqlPlace, "mariadb": MariadbPlace}


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[DatabasePlace]:
    place = PLACES[request.param](tmp_path)
    yield place
    place.close()


@pytest.fixture
def postgresql(tmp_path: Path) -> Iterator[PostgresqlPlace]:
    place = PostgresqlPlace(tmp_path)
    yield place
    place.close()


@pytest.fixture
def mariadb(tmp_path: Path) -> Iterator[MariadbPlace]:
    place = MariadbPlace(tmp_path)
    yield place
    place.close()


def while_a_newer_one_waits(place: DatabasePlace, older: Any, newer: Any) -> list[Any]:
    """Guard with 6, already the mark; while a newer holder waits for its claim, write; what became of the newer."""
    SqlFence(place.connect()).claim("a", 6)
    outcome: list[Any] = []

    def claim_and_read() -> None:
        try:
            with SqlFence(newer).guard("a", 7):
                outcome.append(place.statement(newer, "SELECT words FROM list"))
        except psycopg.errors.SerializationFailure as error:
            outcome.append(error)

    thread = threading.Thread(target=claim_and_read)
    watcher = place.connect()
    with SqlFence(older).guard("a", 6):
        thread.start()
        until(lambda: waits(place, watcher, newer), 60)
        place.statement(older, "UPDATE list SET words = 'older'")
    thread.join()
    return outcome


def test_who_waited_for_its_claim_reads_what_it_waited_for(place: DatabasePlace) -> None:
    (read,) = while_a_newer_one_waits(place, place.connect(), place.connect())
    assert [tuple(row) for row in read] == [("older",)]


def test_under_repeatable_read_who_waited_fails_rather_than_read_the_past(postgresql: PostgresqlPlace) -> None:
    newer = postgresql.connect()
    newer.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    (outcome,) = while_a_newer_one_waits(postgresql, postgresql.connect(), newer)
    assert isinstance(outcome, psycopg.errors.SerializationFailure)


def test_a_guard_does_not_join_a_transaction_whose_reads_are_of_the_past(mariadb: MariadbPlace) -> None:
    connection = mariadb.connect()
    mariadb.statement(connection, "SELECT words FROM list")
    with pytest.raises(FencepostError, match="can not join a transaction at REPEATABLE READ"):
        SqlFence(connection).claim("a", 7)
    connection.rollback()
    mariadb.statement(connection, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
    SqlFence(connection).install()
    mariadb.statement(connection, "SELECT words FROM list")
    SqlFence(connection).claim("a", 7)
    connection.rollback()
    assert SqlFence(connection).highest("a") == 0


def of_the_past(mariadb: MariadbPlace, connection: Any, level: str = "REPEATABLE READ") -> None:
    """A transaction at a level of its own, in a session at READ COMMITTED; it has read already."""
    mariadb.statement(connection, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
    SqlFence(connection).install()
    mariadb.statement(connection, f"SET TRANSACTION ISOLATION LEVEL {level}")
    mariadb.statement(connection, "BEGIN")
    mariadb.statement(connection, "SELECT words FROM list")


def test_a_guard_does_not_join_a_transaction_whose_own_level_is_another_than_its_sessions(
    mariadb: MariadbPlace,
) -> None:
    connection = mariadb.connect()
    of_the_past(mariadb, connection)
    # The server renews what it tells of transactions when nobody has asked for a tenth of a second.
    time.sleep(0.2)
    with pytest.raises(FencepostError, match="can not join a transaction at REPEATABLE READ"):
        SqlFence(connection).claim("a", 7)
    connection.rollback()
    # What it told of the transaction before is not believed of the next.
    of_the_past(mariadb, connection, "READ COMMITTED")
    SqlFence(connection).claim("a", 7)
    connection.commit()
    assert SqlFence(connection).highest("a") == 7


@pytest.mark.parametrize("code", [1227, 1142])
def test_where_the_server_does_not_tell_of_transactions_its_variable_decides(
    mariadb: MariadbPlace, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    monkeypatch.setattr(mark, "OF_THIS_ONE", f"SIGNAL SQLSTATE '42000' SET MYSQL_ERRNO = {code}")
    connection = mariadb.connect()
    of_the_past(mariadb, connection, "READ COMMITTED")
    SqlFence(connection).claim("a", 7)
    connection.commit()
    mariadb.statement(connection, "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    mariadb.statement(connection, "SELECT words FROM list")
    with pytest.raises(FencepostError, match="can not join a transaction at REPEATABLE READ"):
        SqlFence(connection).claim("a", 8)
    connection.rollback()


def test_what_else_fails_while_a_level_is_asked_for_is_told(
    mariadb: MariadbPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mark, "OF_THIS_ONE", "SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 3024")
    connection = mariadb.connect()
    of_the_past(mariadb, connection, "READ COMMITTED")
    with pytest.raises(pymysql.err.Error, match="3024"):
        SqlFence(connection).claim("a", 7)
    connection.rollback()


def test_making_the_table_does_not_commit_what_the_caller_has_begun(mariadb: MariadbPlace) -> None:
    connection = mariadb.connect()
    mariadb.statement(connection, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
    mariadb.statement(connection, "UPDATE list SET words = 'mine'")
    with pytest.raises(FencepostError, match=r"call install\(\) before you begin it"):
        SqlFence(connection).claim("a", 7)
    connection.rollback()
    assert mariadb.statement(connection, "SELECT words FROM list") == [("[]",)]


def test_a_commit_that_is_refused_undoes_the_writes_and_keeps_the_claim(postgresql: PostgresqlPlace) -> None:
    connection = postgresql.connect()
    connection.execute("CREATE TABLE child (x int UNIQUE DEFERRABLE INITIALLY DEFERRED)")
    connection.commit()
    fence = SqlFence(connection)
    with pytest.raises(psycopg.errors.UniqueViolation), fence.guard("a", 5):
        connection.execute("INSERT INTO child VALUES (1), (1)")
    assert connection.execute("SELECT * FROM child").fetchall() == []
    connection.commit()
    assert fence.highest("a") == 5


def test_a_block_may_fail_in_the_database_and_its_claim_stands(place: DatabasePlace) -> None:
    connection = place.connect()
    fence = SqlFence(connection)
    with pytest.raises(Exception, match="nowhere"), fence.guard("a", 5):
        place.statement(connection, "UPDATE list SET words = 'never'")
        place.statement(connection, "DELETE FROM nowhere")
    assert fence.highest("a") == 5
    assert place.look() == []


@pytest.mark.parametrize("kind", ["postgresql", "mariadb"])
def test_a_failure_in_a_block_that_joined_a_broken_transaction_of_django_is_its_own(tmp_path: Path, kind: str) -> None:
    from django.db.transaction import TransactionManagementError, atomic

    place = {"postgresql": DjangoPlace, "mariadb": DjangoMariadbPlace}[kind](tmp_path)
    connection = place.connect()
    if kind == "mariadb":
        place.statement(connection, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
    fence = SqlFence(connection)
    fence.install()
    with pytest.raises(ZeroDivisionError), atomic(using=connection.alias), fence.guard("a", 5):
        place.statement(connection, "COMMIT")
        raise ZeroDivisionError
    with pytest.raises(TransactionManagementError), atomic(using=connection.alias):
        with pytest.raises(ZeroDivisionError), fence.guard("a", 6):
            place.statement(connection, "COMMIT")
            raise ZeroDivisionError
        # What was guarded is not undone, so the caller's transaction must not go on as if nothing were.
        place.statement(connection, "SELECT 1")
    fence.claim("a", 7)
    place.close()


def test_a_lost_connection_surfaces_its_own_error(postgresql: PostgresqlPlace) -> None:
    connection, other = postgresql.connect(), postgresql.connect()
    fence = SqlFence(connection)
    fence.install()
    with pytest.raises(psycopg.OperationalError), fence.guard("a", 5):
        other.execute("SELECT pg_terminate_backend(%s)", [connection.info.backend_pid])
        connection.execute("SELECT 1")
    assert SqlFence(other).highest("a") == 0


@pytest.mark.parametrize("ending", ["commit", "rollback"])
def test_a_block_that_ends_its_transaction_is_told_so(place: DatabasePlace, ending: str) -> None:
    connection = place.connect()
    fence = SqlFence(connection)
    fence.install()
    with pytest.raises(FencepostError, match="guarding 'a' ended its transaction"), fence.guard("a", 5):
        getattr(connection, ending)()
        place.statement(connection, "UPDATE list SET words = 'unguarded'")
    assert place.look() == []
    fence.claim("a", 6)
    assert fence.highest("a") == 6


def test_a_row_that_keeps_its_own_mark(place: DatabasePlace) -> None:
    connection = place.connect()
    place.statement(connection, "CREATE TABLE orders (id INT PRIMARY KEY, total INT, mark BIGINT NOT NULL DEFAULT 0)")
    place.statement(connection, "INSERT INTO orders (id, total) VALUES (42, 100)")
    place.commit(connection)
    fence = RowFence(connection, "orders", column="mark")
    (total,) = fence.read(42, 7, ["total"])
    for _ in range(2):  # the second changes nothing
        fence.write(42, 7, total=total + 5)
    with pytest.raises(Stale, match="token 6 for 'orders/42' is stale: token 7 was seen already"):
        fence.write(42, 6, total=0)
    with pytest.raises(LookupError, match="no row of 'orders' has the key 43"):
        fence.write(43, 6, total=0)
    assert RowFence(place.connect(), "orders", column="mark").read(42, 8, ["total", "id"]) == (105, 42)


@pytest.mark.unit
def test_a_column_of_a_row_may_have_any_name() -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE orders (id INT, key TEXT, grant TEXT, self TEXT, fencing_token INT DEFAULT 0)")
    connection.execute("INSERT INTO orders (id) VALUES (42)")
    fence = RowFence(connection, "orders")
    fence.write(42, 7, key="a", grant="b", self="c")
    assert fence.read(42, 7, ["key", "grant", "self"]) == ("a", "b", "c")
    connection.close()


def test_a_row_is_read_as_it_is_also_in_a_transaction_whose_reads_are_of_the_past(mariadb: MariadbPlace) -> None:
    one, other = mariadb.connect(), mariadb.connect()
    mariadb.statement(one, "CREATE TABLE orders (id INT PRIMARY KEY, total INT, fencing_token BIGINT DEFAULT 0)")
    mariadb.statement(one, "INSERT INTO orders (id, total) VALUES (42, 100)")
    one.commit()
    mariadb.statement(other, "SELECT words FROM list")
    RowFence(one, "orders").write(42, 7, total=200)
    # The same holder: its claim changes nothing, and so makes no row of this transaction's own.
    assert RowFence(other, "orders").read(42, 7, ["total"]) == (200,)
    other.rollback()


@pytest.mark.unit
def test_names_of_tables_are_taken_as_they_are() -> None:
    connection = sqlite3.connect(":memory:")
    for table in ('or"ders', "", "shop."):
        with pytest.raises(ValueError, match="is not the name of a table"):
            RowFence(connection, table)
    connection.close()


def test_an_outer_block_that_raises_keeps_inner_claims_unless_somebody_newer_came(place: DatabasePlace) -> None:
    connection = place.connect()
    fence = SqlFence(connection)
    fence.install()
    with interrupted(fence.guard("a", 3)), fence.guard("b", 7), fence.guard("c", 8):
        pass
    assert [fence.highest(name) for name in "abc"] == [3, 7, 8]


@pytest.mark.unit
def test_what_is_no_connection_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match="a connection of sqlite3, psycopg, PyMySQL, SQLAlchemy or Django, not str"):
        SqlFence("postgresql://")
