"""The fence that PostgreSQL keeps by itself: what forgets to show a token is refused, whoever it is."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from fencepost.errors import Stale
from fencepost.fences.sql import SqlFence
from fencepost.fences.sql.trigger import Enforcement, install, remove, status
from tests.support.fences.database import PostgresqlPlace

NO_TOKEN = "this transaction has shown no token for "


@pytest.fixture
def place(tmp_path: Path) -> Iterator[PostgresqlPlace]:
    place = PostgresqlPlace(tmp_path)
    place.autocommit = True
    place.connect().execute("CREATE TABLE orders (id int PRIMARY KEY, total int)")
    place.connect().execute("INSERT INTO orders VALUES (42, 100), (43, 7)")
    yield place
    place.close()


def totals(connection: Any) -> list[int]:
    return [total for (total,) in connection.execute("SELECT total FROM orders ORDER BY id")]


def here(connection: Any) -> list[Enforcement]:
    """Of this test: others have schemas of their own in the same database."""
    return [each for each in status(connection) if "." not in each.table]


FORGETFUL = (
    "UPDATE orders SET total = 0",
    "DELETE FROM orders",
    "INSERT INTO orders VALUES (1, 1)",
    "TRUNCATE orders",
    "WITH gone AS (DELETE FROM orders RETURNING id) SELECT count(*) FROM gone",
)


@pytest.mark.parametrize("sql", FORGETFUL)
@pytest.mark.parametrize("key", [None, "id"])
def test_a_write_that_forgot_the_token_is_refused(place: PostgresqlPlace, sql: str, key: str | None) -> None:
    connection = place.connect()
    install(connection, "orders", key=key)
    with pytest.raises(psycopg.Error, match=NO_TOKEN) as refused:
        connection.execute(sql)
    assert refused.value.sqlstate == "FP002"
    assert totals(connection) == [100, 7]


def test_a_guard_shows_the_token_for_its_block_and_not_longer(place: PostgresqlPlace) -> None:
    connection = place.connect()
    install(connection, "orders")
    fence = SqlFence(connection)
    with fence.guard("orders", 7) as db:
        db.execute("UPDATE orders SET total = total + 1")
    with pytest.raises(psycopg.Error, match=NO_TOKEN):
        connection.execute("UPDATE orders SET total = 0")
    with pytest.raises(Stale) as refused, fence.guard("orders", 6):
        pass
    assert (refused.value.token, refused.value.highest) == (6, 7)
    assert totals(connection) == [101, 8]


def test_a_guard_for_something_else_does_not_help(place: PostgresqlPlace) -> None:
    connection = place.connect()
    install(connection, "orders")
    fence = SqlFence(connection)
    with pytest.raises(psycopg.Error, match=NO_TOKEN), fence.guard("invoices", 7) as db:
        db.execute("UPDATE orders SET total = 0")
    assert fence.highest("invoices") == 7


def test_each_row_may_have_a_lock_of_its_own(place: PostgresqlPlace) -> None:
    connection = place.connect()
    install(connection, "orders", key="id")
    fence = SqlFence(connection)
    with fence.guard("orders/42", 7) as db:
        db.execute("UPDATE orders SET total = 1 WHERE id = 42")
        with pytest.raises(psycopg.Error, match="no token for 'orders/43'"), db.transaction():
            db.execute("UPDATE orders SET total = 1 WHERE id = 43")
    with fence.guard("orders/42", 8) as db, fence.guard("orders/43", 3):
        db.execute("UPDATE orders SET total = total + 1")
    with pytest.raises(psycopg.Error, match="no token for 'orders/42'"), fence.guard("orders/44", 1) as db:
        db.execute("UPDATE orders SET id = 44 WHERE id = 42")
    assert totals(connection) == [2, 8]


def test_one_statement_behind_the_claim_satisfies_the_trigger(place: PostgresqlPlace) -> None:
    connection = place.connect()
    install(connection, "orders")
    fence = SqlFence(connection)
    assert fence.execute("orders", 7, "UPDATE orders SET total = %s WHERE id = 42", [5]).changed == 1
    with pytest.raises(Stale):
        fence.execute("orders", 6, "UPDATE orders SET total = 0")
    assert totals(connection) == [5, 7]


def test_other_languages_claim_by_a_function(place: PostgresqlPlace) -> None:
    connection, older = place.connect(), place.connect()
    install(connection, "orders")
    with connection.transaction():
        connection.execute("SELECT fencepost_claim('orders', 7)")
        connection.execute("UPDATE orders SET total = 1")
    with pytest.raises(psycopg.Error, match="the mark is 7") as refused, older.transaction():
        older.execute("SELECT fencepost_claim('orders', 6)")
    assert refused.value.sqlstate == "FP001"


def test_a_setting_made_by_hand_is_checked_all_the_same(place: PostgresqlPlace) -> None:
    connection = place.connect()
    install(connection, "orders")
    connection.execute("""SET fencepost.tokens = '{"orders": 5}'""")
    connection.execute("UPDATE orders SET total = 1")
    SqlFence(place.connect()).claim("orders", 6)
    with pytest.raises(psycopg.Error, match="the mark is 6"):
        connection.execute("UPDATE orders SET total = 2")


def test_a_setting_made_by_hand_keeps_newer_ones_out_until_the_commit_all_the_same(place: PostgresqlPlace) -> None:
    connection, newer = place.connect(), place.connect()
    install(connection, "orders")
    SqlFence(connection).claim("orders", 5)
    newer.execute("SET lock_timeout = '200ms'")
    with connection.transaction():
        connection.execute("""SET LOCAL fencepost.tokens = '{"orders": 5}'""")
        connection.execute("UPDATE orders SET total = 1")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            SqlFence(newer).claim("orders", 6)
    SqlFence(newer).claim("orders", 6)


def test_names_that_are_too_long_for_an_index_are_fenced_like_others(place: PostgresqlPlace) -> None:
    connection, long = place.connect(), "orders/" + "é" * 1000
    install(connection, "orders", name=long)
    fence = SqlFence(connection)
    with fence.guard(long, 7) as db:
        db.execute("UPDATE orders SET total = 1")
    assert fence.highest(long) == 7


def test_status_lists_and_remove_takes_away(place: PostgresqlPlace) -> None:
    connection = place.connect()
    assert here(connection) == []
    assert install(connection, "orders", name="shop") == Enforcement("orders", "shop", None, True)
    assert install(connection, "orders", key="id") == Enforcement("orders", "orders", "id", True)
    connection.execute("ALTER TABLE orders DISABLE TRIGGER fencepost_fence")
    assert here(connection) == [Enforcement("orders", "orders", "id", False)]
    assert remove(connection, "orders")
    assert not remove(connection, "orders")
    connection.execute("UPDATE orders SET total = 0")
    assert here(connection) == []


def test_what_is_not_there_is_named(place: PostgresqlPlace) -> None:
    connection = place.connect()
    with pytest.raises(LookupError, match="there is no table 'nothing'"):
        install(connection, "nothing")
    with pytest.raises(LookupError, match="table 'orders' has no column 'nothing'"):
        install(connection, "orders", key="nothing")
