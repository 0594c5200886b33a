"""The fence that PostgreSQL keeps by itself: what forgets to show a token is refused, whoever it is."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row, namedtuple_row, scalar_row

from fencepost.errors import Stale
from fencepost.fences.sql import SqlFence
from fencepost.fences.sql.dialect import MOST_BYTES
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


LONG = {"ascii": "x" * (MOST_BYTES + 1), "wide": "ж" * (MOST_BYTES // 2 + 1)}


@pytest.mark.parametrize("name", LONG.values(), ids=LONG)
def test_a_long_name_has_one_mark_whoever_claims_it(place: PostgresqlPlace, name: str) -> None:
    connection = place.connect()
    fence = SqlFence(connection)
    fence.claim(name, 9)
    with pytest.raises(psycopg.Error, match="the mark is 9") as refused:
        connection.execute("SELECT fencepost_claim(%s, 5)", [name])
    assert refused.value.sqlstate == "FP001"
    connection.execute("SELECT fencepost_claim(%s, 11)", [name])
    with pytest.raises(Stale):
        fence.claim(name, 10)
    assert fence.highest(name) == 11


@pytest.mark.parametrize("name", LONG.values(), ids=LONG)
def test_a_long_name_that_was_shown_by_hand_satisfies_the_trigger(place: PostgresqlPlace, name: str) -> None:
    connection = place.connect()
    install(connection, "orders", name=name)
    with connection.transaction():
        connection.execute("SELECT fencepost_claim(%s, 5)", [name])
        connection.execute("UPDATE orders SET total = 1")
    assert totals(connection) == [1, 1]


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


# The second has too many bytes, and not too many characters.
@pytest.mark.parametrize("characters", [1000, MOST_BYTES // 2 + 1, MOST_BYTES // 2])
def test_names_that_are_too_long_for_an_index_are_fenced_like_others(place: PostgresqlPlace, characters: int) -> None:
    connection, long = place.connect(), "é" * characters
    install(connection, "orders", name=long)
    fence = SqlFence(connection)
    with fence.guard(long, 7) as db:
        db.execute("UPDATE orders SET total = 1")
    assert fence.highest(long) == 7
    with pytest.raises(psycopg.Error, match=NO_TOKEN):
        connection.execute("UPDATE orders SET total = 0")


def test_status_lists_and_remove_takes_away(place: PostgresqlPlace) -> None:
    connection = place.connect()
    assert here(connection) == []
    assert install(connection, "orders", name="shop") == Enforcement("orders", "shop", None, True)
    assert install(connection, "orders", key="id") == Enforcement("orders", "orders", "id", True)
    connection.execute("ALTER TABLE orders DISABLE TRIGGER fencepost_fence")
    assert here(connection) == [Enforcement("orders", "orders", "id", False, ("orders",))]
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


PARTITIONED = """
CREATE TABLE sales (id int, total int) PARTITION BY RANGE (id);
CREATE TABLE sales_a PARTITION OF sales FOR VALUES FROM (0) TO (100);
CREATE TABLE sales_b PARTITION OF sales FOR VALUES FROM (100) TO (200) PARTITION BY RANGE (id);
CREATE TABLE sales_ba PARTITION OF sales_b FOR VALUES FROM (100) TO (150);
INSERT INTO sales VALUES (42, 1), (142, 1)
"""
INHERITED = """
CREATE TABLE sales (id int, total int);
CREATE TABLE sales_a () INHERITS (sales);
CREATE TABLE sales_ba () INHERITS (sales_a);
CREATE TABLE others (id int);
ALTER TABLE sales_a INHERIT others;
INSERT INTO sales VALUES (1, 1);
INSERT INTO sales_a VALUES (42, 1);
INSERT INTO sales_ba VALUES (142, 1)
"""


@pytest.mark.parametrize("key", [None, "id"])
@pytest.mark.parametrize("made", [PARTITIONED, INHERITED], ids=["partitions", "children"])
def test_partitions_and_children_refuse_like_their_parent(place: PostgresqlPlace, made: str, key: str | None) -> None:
    connection = place.connect()
    connection.execute(made)
    rows = connection.execute("SELECT * FROM sales ORDER BY id").fetchall()
    install(connection, "sales", key=key)
    install(connection, "sales", key=key)
    assert all(each.enabled for each in here(connection))
    for table in ("sales", "sales_a", "sales_ba"):
        id = 142 if table == "sales_ba" else 42
        for sql in ("UPDATE {} SET id = id", "DELETE FROM {}", "TRUNCATE {}", f"INSERT INTO {{}} VALUES ({id}, 9)"):
            with pytest.raises(psycopg.Error, match=NO_TOKEN):
                connection.execute(sql.format(table))
    if made is INHERITED:
        # The other parent of a child is not fenced, and the rows of the child are.
        for sql in ("UPDATE others SET id = id", "DELETE FROM others", "TRUNCATE others"):
            with pytest.raises(psycopg.Error, match=NO_TOKEN):
                connection.execute(sql)
    assert connection.execute("SELECT * FROM sales ORDER BY id").fetchall() == rows
    with SqlFence(connection).guard("sales/142" if key else "sales", 7) as db:
        db.execute("UPDATE sales_ba SET total = 2")
        db.execute("UPDATE sales SET total = 3 WHERE id = 142")
    assert remove(connection, "sales")
    connection.execute("UPDATE sales_ba SET total = 4")
    connection.execute("TRUNCATE sales_a, sales_ba")
    assert here(connection) == []


def test_a_partition_fenced_by_itself_refuses_what_comes_through_its_parent(place: PostgresqlPlace) -> None:
    connection = place.connect()
    connection.execute(PARTITIONED)
    install(connection, "sales_a")
    connection.execute("UPDATE sales SET total = 2 WHERE id = 142")
    for sql in ("UPDATE sales SET total = 2", "INSERT INTO sales VALUES (1, 1)", "TRUNCATE sales"):
        with pytest.raises(psycopg.Error, match=NO_TOKEN):
            connection.execute(sql)


def test_a_partition_that_comes_later_refuses_writes_and_status_tells_what_it_does_not(place: PostgresqlPlace) -> None:
    connection = place.connect()
    connection.execute(PARTITIONED)
    install(connection, "sales")
    connection.execute("CREATE TABLE sales_c PARTITION OF sales FOR VALUES FROM (200) TO (300)")
    with pytest.raises(psycopg.Error, match=NO_TOKEN):
        connection.execute("INSERT INTO sales_c VALUES (200, 1)")
    assert here(connection) == [Enforcement("sales", "sales", None, False, ("sales_c",))]
    install(connection, "sales")
    assert here(connection) == [Enforcement("sales", "sales", None, True)]
    connection.execute("ALTER TABLE sales_ba DISABLE TRIGGER fencepost_fence")
    connection.execute("ALTER TABLE sales_a ENABLE REPLICA TRIGGER fencepost_fence_truncate")
    assert here(connection) == [Enforcement("sales", "sales", None, False, ("sales_a", "sales_ba"))]


def test_the_first_partition_that_comes_later_refuses_writes(place: PostgresqlPlace) -> None:
    connection = place.connect()
    connection.execute("CREATE TABLE sales (id int, total int) PARTITION BY RANGE (id)")
    install(connection, "sales")
    assert here(connection) == [Enforcement("sales", "sales", None, True)]
    connection.execute("CREATE TABLE sales_a PARTITION OF sales FOR VALUES FROM (0) TO (100)")
    for sql in ("INSERT INTO sales VALUES (1, 1)", "INSERT INTO sales_a VALUES (1, 1)"):
        with pytest.raises(psycopg.Error, match=NO_TOKEN):
            connection.execute(sql)
    assert here(connection) == [Enforcement("sales", "sales", None, False, ("sales_a",))]


def test_status_tells_of_a_table_for_partitions_that_was_fenced_by_statements(place: PostgresqlPlace) -> None:
    connection = place.connect()
    connection.execute("CREATE TABLE sales (id int, total int) PARTITION BY RANGE (id)")
    install(connection, "sales")
    # As it was installed before.
    connection.execute(
        "DROP TRIGGER fencepost_fence ON sales; CREATE TRIGGER fencepost_fence BEFORE INSERT OR UPDATE OR DELETE "
        "ON sales FOR EACH STATEMENT EXECUTE FUNCTION fencepost_check_table('sales', '')"
    )
    assert here(connection) == [Enforcement("sales", "sales", None, False, ("sales",))]


def test_status_tells_of_a_table_that_got_a_child_or_a_parent(place: PostgresqlPlace) -> None:
    connection = place.connect()
    install(connection, "orders")
    connection.execute("CREATE TABLE more () INHERITS (orders)")
    assert here(connection) == [Enforcement("orders", "orders", None, False, ("more", "orders"))]
    install(connection, "orders")
    assert [each.enabled for each in here(connection)] == [True, True]
    connection.execute("CREATE TABLE lone (id int); CREATE TABLE above (id int)")
    install(connection, "lone")
    connection.execute("ALTER TABLE lone INHERIT above")
    assert [each.unguarded for each in here(connection) if each.table == "lone"] == [("lone",)]


def test_a_generated_key_is_known(place: PostgresqlPlace) -> None:
    connection = place.connect()
    connection.execute("CREATE TABLE pairs (half int, id int GENERATED ALWAYS AS (half * 2) STORED)")
    install(connection, "pairs", key="id")
    fence = SqlFence(connection)
    with pytest.raises(psycopg.Error, match="no token for 'pairs/42'"), fence.guard("pairs/", 7) as db:
        db.execute("INSERT INTO pairs (half) VALUES (21)")
    with fence.guard("pairs/42", 7) as db:
        db.execute("INSERT INTO pairs (half) VALUES (21)")


def test_a_key_that_another_trigger_sets_is_the_one_that_counts(place: PostgresqlPlace) -> None:
    connection = place.connect()
    connection.execute("""
        CREATE FUNCTION move() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.id := 44; RETURN NEW; END $$;
        CREATE TRIGGER zzz BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION move()
    """)
    install(connection, "orders", key="id")
    fence = SqlFence(connection)
    with pytest.raises(psycopg.Error, match="no token for 'orders/44'"), fence.guard("orders/1", 7) as db:
        db.execute("INSERT INTO orders VALUES (1, 1)")
    with fence.guard("orders/44", 7) as db:
        db.execute("INSERT INTO orders VALUES (1, 1)")


def test_a_row_needs_its_token_also_where_the_key_is_or_becomes_nothing(place: PostgresqlPlace) -> None:
    connection = place.connect()
    connection.execute("CREATE TABLE loose (id int); INSERT INTO loose VALUES (NULL)")
    install(connection, "loose", key="id")
    fence = SqlFence(connection)
    with pytest.raises(psycopg.Error, match="no token for 'loose/'"), fence.guard("loose/42", 7) as db:
        db.execute("UPDATE loose SET id = 42")
    with fence.guard("loose/42", 7) as db, fence.guard("loose/", 7):
        db.execute("UPDATE loose SET id = 42")


def test_a_trigger_of_fencepost_0_1_0_still_passes_rows_and_status_tells_of_it(place: PostgresqlPlace) -> None:
    """Installing at another table replaces the function that it calls."""
    connection = place.connect()
    install(connection, "orders", key="id")
    connection.execute("""
        DROP TRIGGER fencepost_fence ON orders;
        CREATE TRIGGER fencepost_fence BEFORE INSERT OR UPDATE OR DELETE ON orders
        FOR EACH ROW EXECUTE FUNCTION fencepost_check_row('orders', 'id')
    """)
    with SqlFence(connection).guard("orders/42", 7) as db:
        db.execute("UPDATE orders SET total = 1 WHERE id = 42")
    assert totals(connection) == [1, 7]
    assert here(connection) == [Enforcement("orders", "orders", "id", False, ("orders",))]


def test_status_tells_names_that_are_not_ascii(place: PostgresqlPlace) -> None:
    connection = place.connect()
    install(connection, "orders", name="café\\")
    assert here(connection) == [Enforcement("orders", "café\\", None, True)]


@pytest.mark.parametrize("rows", [dict_row, namedtuple_row, scalar_row])
def test_the_rows_that_a_connection_makes_do_not_matter(place: PostgresqlPlace, rows: Any) -> None:
    connection, plain = place.connect(), place.connect()
    connection.row_factory = rows
    assert install(connection, "orders", key="id").table == "orders"
    assert here(connection) == here(plain) == [Enforcement("orders", "orders", "id", True)]
    with pytest.raises(psycopg.Error, match=NO_TOKEN):
        plain.execute("UPDATE orders SET total = 0")
    assert remove(connection, "orders")
    assert here(plain) == []
    plain.execute("UPDATE orders SET total = 0")
