"""What a fenced write sends: counted in the server's own log."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fencepost.errors import Stale
from fencepost.fences.sql import RowFence, SqlFence
from fencepost.testing.condition import until
from fencepost.testing.postgresql import PostgresqlServer, postgresql_server

STATEMENT = re.compile(r"LOG:  (?:statement|execute [^:]*): (.*)")


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresqlServer]:
    with postgresql_server("log_statement=all") as server:
        yield server


@pytest.fixture
def connection(server: PostgresqlServer) -> Iterator[Any]:
    import psycopg

    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS orders")
        connection.execute("CREATE TABLE orders (id int PRIMARY KEY, total int, fencing_token bigint DEFAULT 0)")
        connection.execute("INSERT INTO orders VALUES (42, 100)")
        SqlFence(connection).install()
        yield connection


class Log:
    """The statements between two looks."""

    def __init__(self, server: PostgresqlServer, connection: Any) -> None:
        self._log, self._connection, self._marks = Path(server.log), connection, 0
        self.since()

    def since(self) -> list[str]:
        self._marks += 1
        mark = f"SELECT 'mark {self._marks}'"
        self._connection.execute(mark)
        until(lambda: mark in self._log.read_text())
        text = self._log.read_text().rpartition(mark)[0]
        *found, _ = STATEMENT.findall(text.rpartition(f"SELECT 'mark {self._marks - 1}'")[2])
        return found


def test_one_statement_more_and_no_transaction_around_it(server: PostgresqlServer, connection: Any) -> None:
    log, update = Log(server, connection), "UPDATE orders SET total = 5 WHERE id = 42"
    SqlFence(connection).execute("orders/42", 7, update)
    assert log.since() == ["SELECT fencepost_claim($1, $2)", update]


def test_no_statement_more_where_the_row_has_its_own_mark(server: PostgresqlServer, connection: Any) -> None:
    log = Log(server, connection)
    RowFence(connection, "orders").write(42, 7, total=5)
    (sent,) = log.since()
    assert sent.startswith('UPDATE "orders" SET "total" = $1')


def test_a_guard_is_one_message_before_the_block_and_one_behind_it(server: PostgresqlServer, connection: Any) -> None:
    log = Log(server, connection)
    with SqlFence(connection).guard("orders/42", 7) as db:
        db.execute("SELECT total FROM orders")
    entered, read, left = log.since()
    assert re.match(r"BEGIN; SELECT fencepost_claim\(.*, 7\); SAVEPOINT", entered)
    assert read == "SELECT total FROM orders"
    assert re.match(r"SET CONSTRAINTS ALL IMMEDIATE; RELEASE SAVEPOINT \w+; COMMIT", left)


@pytest.mark.parametrize("joined", [False, True])
def test_without_autocommit_no_statement_has_a_round_trip_of_its_own_but_begin(
    server: PostgresqlServer, connection: Any, tmp_path: Path, joined: bool
) -> None:
    import psycopg

    around = ["SAVEPOINT fencepost_claim_0", "RELEASE SAVEPOINT fencepost_claim_0"] if joined else ["BEGIN", "COMMIT"]
    with psycopg.connect(server.url) as plain, (tmp_path / "trace").open("w+") as trace:
        fence = SqlFence(plain)
        if joined:
            plain.execute("SELECT 1")
        log = Log(server, connection)
        plain.pgconn.trace(trace.fileno())
        fence.execute("orders/42", 7, "UPDATE orders SET total = %s WHERE id = 42", [5])
        plain.pgconn.untrace()
        statements = ["SELECT fencepost_claim($1, $2)", "UPDATE orders SET total = $1 WHERE id = 42"]
        assert log.since() == [around[0], *statements, around[1]]
        # Messages from the front end, then those from the back end: a round trip. psycopg waits for BEGIN by itself.
        directions = "".join(line.split("\t")[1] for line in Path(trace.name).read_text().splitlines())
        assert len(re.findall("F+B+", directions)) == (1 if joined else 2)


def test_a_refusal_in_an_open_transaction_leaves_it_as_it_was(server: PostgresqlServer, connection: Any) -> None:
    import psycopg

    update = "UPDATE orders SET total = total + %s WHERE id = 42"
    with psycopg.connect(server.url) as joined:
        fence = SqlFence(joined)
        joined.execute(update, [1])
        fence.execute("orders/42", 10, update, [10])
        with pytest.raises(Stale):
            fence.execute("orders/42", 9, update, [100])
        with pytest.raises(psycopg.errors.UniqueViolation):
            fence.execute("orders/42", 11, "INSERT INTO orders VALUES (%s)", [42])
        joined.execute(update, [1000])
    assert connection.execute("SELECT total FROM orders").fetchone() == (1111,)
    assert SqlFence(connection).highest("orders/42") == 10


def test_what_is_claimed_within_a_guard_outlives_the_failure_of_the_guard(server: PostgresqlServer) -> None:
    import psycopg

    with psycopg.connect(server.url) as connection:
        fence = SqlFence(connection)
        with pytest.raises(RuntimeError), fence.guard("outer", 3):
            fence.execute("inner", 5, "SELECT 1")
            raise RuntimeError
        assert fence.highest("inner") == 5
