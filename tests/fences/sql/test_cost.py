"""What a fenced write sends: counted in the server's own log."""

import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from fencepost.errors import Stale
from fencepost.fences.sql import RowFence, SqlFence
from fencepost.testing.condition import until
from fencepost.testing.postgresql import shared_postgresql
from tests.support.fences.database import PostgresqlPlace

STATEMENT = re.compile(r"LOG:  (?:statement|execute [^:]*): (.*)")


class Logged:
    """A schema in the shared server, and connections to it whose statements are logged."""

    def __init__(self, schema: str) -> None:
        self.log = shared_postgresql().log
        self._options = f"-c log_statement=all -c search_path={schema}"

    def connect(self, **more: Any) -> "psycopg.Connection[Any]":
        return psycopg.connect(shared_postgresql().url, options=self._options, **more)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Logged]:
    place = PostgresqlPlace(tmp_path)
    yield Logged(place.name)
    place.close()


@pytest.fixture
def connection(server: Logged) -> Iterator[Any]:
    with server.connect(autocommit=True) as connection:
        connection.execute("CREATE TABLE orders (id int PRIMARY KEY, total int, fencing_token bigint DEFAULT 0)")
        connection.execute("INSERT INTO orders VALUES (42, 100)")
        SqlFence(connection).install()
        yield connection


class Log:
    """The statements between two looks."""

    def __init__(self, server: Logged, connection: Any) -> None:
        self._log, self._connection, self._marks = server.log, connection, 0
        self._name = uuid.uuid4().hex
        self.since()

    def since(self) -> list[str]:
        self._marks += 1
        mark = f"SELECT 'mark {self._marks} of {self._name}'"
        self._connection.execute(mark)
        until(lambda: mark in self._log.read_text())
        text = self._log.read_text().rpartition(mark)[0]
        *found, _ = STATEMENT.findall(text.rpartition(f"SELECT 'mark {self._marks - 1} of {self._name}'")[2])
        return found


def test_one_statement_more_and_no_transaction_around_it(server: Logged, connection: Any) -> None:
    log, update = Log(server, connection), "UPDATE orders SET total = 5 WHERE id = 42"
    SqlFence(connection).execute("orders/42", 7, update)
    assert log.since() == ["SELECT fencepost_claim($1, $2)", update]


def test_no_statement_more_where_the_row_has_its_own_mark(server: Logged, connection: Any) -> None:
    log = Log(server, connection)
    RowFence(connection, "orders").write(42, 7, total=5)
    (sent,) = log.since()
    assert sent.startswith('UPDATE "orders" SET "total" = $1')


def test_a_guard_is_one_message_before_the_block_and_one_behind_it(server: Logged, connection: Any) -> None:
    log = Log(server, connection)
    with SqlFence(connection).guard("orders/42", 7) as db:
        db.execute("SELECT total FROM orders")
    entered, read, left = log.since()
    assert re.match(r"BEGIN; SELECT fencepost_claim\(.*, 7\); SAVEPOINT", entered)
    assert read == "SELECT total FROM orders"
    assert re.match(r"SET CONSTRAINTS ALL IMMEDIATE; RELEASE SAVEPOINT \w+; COMMIT", left)


@pytest.mark.parametrize("joined", [False, True])
def test_without_autocommit_no_statement_has_a_round_trip_of_its_own_but_begin(
    server: Logged, connection: Any, tmp_path: Path, joined: bool
) -> None:
    around = ["SAVEPOINT fencepost_claim_0", "RELEASE SAVEPOINT fencepost_claim_0"] if joined else ["BEGIN", "COMMIT"]
    with server.connect() as plain, (tmp_path / "trace").open("w+") as trace:
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


def test_a_refusal_in_an_open_transaction_leaves_it_as_it_was(server: Logged, connection: Any) -> None:
    update = "UPDATE orders SET total = total + %s WHERE id = 42"
    with server.connect() as joined:
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


def test_what_is_claimed_within_a_guard_outlives_the_failure_of_the_guard(server: Logged) -> None:
    with server.connect() as connection:
        fence = SqlFence(connection)
        with pytest.raises(RuntimeError), fence.guard("outer", 3):
            fence.execute("inner", 5, "SELECT 1")
            raise RuntimeError
        assert fence.highest("inner") == 5


def test_inner_claims_are_shown_again_in_the_message_that_undoes_them(server: Logged, connection: Any) -> None:
    fence = SqlFence(connection)
    fence.claim("inner", 4)
    with pytest.raises(RuntimeError), fence.guard("outer", 3):
        with fence.guard("inner", 5):
            pass
        log = Log(server, connection)
        raise RuntimeError
    undone, committed = log.since()
    assert re.match(r"ROLLBACK TO SAVEPOINT \w+; SAVEPOINT \w+; INSERT INTO fencepost_fence", undone)
    assert committed == "COMMIT"
    assert (fence.highest("outer"), fence.highest("inner")) == (3, 5)


def test_inner_claims_that_can_not_be_shown_at_once_are_shown_after_the_commit(connection: Any) -> None:
    fence = SqlFence(connection)
    # A deadlock with whoever came between, say: the first claim is taken, and the second one fails.
    connection.execute(
        """
        CREATE SEQUENCE claims;
        CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF nextval('claims') = 2 THEN RAISE EXCEPTION 'deadlock' USING ERRCODE = '40P01'; END IF;
            RETURN NEW;
        END $$;
        CREATE TRIGGER fail BEFORE INSERT ON fencepost_fence FOR EACH ROW WHEN (NEW.name = 'inner')
        EXECUTE FUNCTION fail();
        """
    )
    with pytest.raises(RuntimeError), fence.guard("outer", 3), fence.guard("inner", 5):
        raise RuntimeError
    assert connection.execute("SELECT last_value FROM claims").fetchone() == (3,)
    assert (fence.highest("outer"), fence.highest("inner")) == (3, 5)
