"""What a fenced write sends: counted in the server's own log."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fencepost.fences.sql import RowFence, SqlFence
from fencepost.testing.postgresql import PostgresqlServer, postgresql_server
from fencepost.testing.redis import until

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
