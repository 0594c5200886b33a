"""Every isolation level that may be a database's default, and every fence in it: a stale token never passes."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pymysql
import pytest

from fencepost.errors import FencepostError, Stale
from fencepost.fences.result import SqlResults
from fencepost.fences.sql import RowFence, SqlFence
from fencepost.fences.sql.trigger import install
from fencepost.testing.condition import until
from tests.support.fences.database import DatabasePlace, MariadbPlace, PostgresqlPlace, waits

PLACES = {"postgresql": PostgresqlPlace, "mariadb": MariadbPlace}
LEVELS = ("READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE")


class Held:
    """One row of one holder, behind each kind of fence."""

    def __init__(self, place: DatabasePlace, level: str) -> None:
        self._place, self._level = place, level

    def connect(self, level: str = "") -> Any:
        connection = self._place.connect()
        of_session = "CHARACTERISTICS AS " if isinstance(self._place, PostgresqlPlace) else ""
        level = level or self._level
        self._place.statement(connection, f"SET SESSION {of_session}TRANSACTION ISOLATION LEVEL {level}")
        self._place.commit(connection)
        return connection

    def write(self, connection: Any, kind: str, token: int) -> None:
        sql = f"UPDATE orders SET total = {token} WHERE id = 42"
        match kind:
            case "guard":
                with SqlFence(connection).guard("orders", token):
                    self._place.statement(connection, sql)
            case "execute":
                SqlFence(connection).execute("orders", token, sql)
            case "row":
                RowFence(connection, "orders", column="mark").write(42, token, total=token)
            case "trigger":
                # As in any language: no fence but the database's.
                self._place.statement(connection, "SELECT fencepost_claim('orders', %s)", token)
                self._place.statement(connection, sql)
            case "result":
                results = SqlResults(connection)
                results.claim("orders", token)
                results.keep("orders", token, str(token), None)
                self._place.statement(connection, sql)

    def total(self) -> int:
        ((total,),) = self._place.statement(self._place.connect(), "SELECT total FROM orders")
        return int(total)


KINDS = ("guard", "execute", "row", "result", "trigger")


def combinations() -> Iterator[Any]:
    for database in PLACES:
        for kind in KINDS:
            for level in LEVELS:
                if (database, kind) != ("mariadb", "trigger"):
                    # The one whose reads are of the past, and no lock, is where it would go wrong.
                    marks = () if level == "REPEATABLE READ" else pytest.mark.slow
                    name = f"{database}-{kind}-{level}".replace(" ", "_").lower()
                    yield pytest.param(database, kind, level, id=name, marks=marks)


COMBINATIONS = list(combinations())
# Here a read keeps writers out, so that no newer one comes.
LOCKING = ("mariadb", "SERIALIZABLE")


@pytest.fixture
def held(database: str, kind: str, level: str, tmp_path: Path) -> Iterator[Held]:
    place = PLACES[database](tmp_path)
    connection = place.connect()
    place.statement(connection, "CREATE TABLE orders (id INT PRIMARY KEY, total INT, mark BIGINT NOT NULL DEFAULT 0)")
    place.statement(connection, "INSERT INTO orders (id, total) VALUES (42, 0)")
    place.commit(connection)
    if kind == "trigger":
        install(connection, "orders")
    held = Held(place, level)
    held.write(connection, kind, 5)
    place.commit(connection)
    yield held
    place.close()


# Of the fence; or of the database, which undoes the transaction (40001, 1020, 1213) or says FP001.
REFUSED = (FencepostError, psycopg.OperationalError, pymysql.err.OperationalError)


@pytest.mark.parametrize(("database", "kind", "level"), [each for each in COMBINATIONS if each.values[::2] != LOCKING])
def test_a_stale_token_does_not_pass_in_a_transaction_older_than_the_newer_one(held: Held, kind: str) -> None:
    older, newer = held.connect(), held.connect()
    held._place.statement(older, "SELECT total FROM orders")
    if kind == "result":
        held._place.statement(older, "SELECT token FROM fencepost_result")
    held.write(newer, kind, 7)
    newer.commit()
    with pytest.raises(REFUSED):
        held.write(older, kind, 6)
    older.rollback()
    assert held.total() == 7


@pytest.mark.parametrize(("database", "kind", "level"), COMBINATIONS)
def test_a_stale_token_does_not_pass_after_it_waited_for_the_newer_one(held: Held, kind: str) -> None:
    # The newer one joins a transaction of its own, which is open until the older one waits for it.
    older, newer, watcher = held.connect(), held.connect("READ COMMITTED"), held._place.connect()
    held._place.statement(newer, "SELECT total FROM orders")
    outcome: list[Any] = []

    def late() -> None:
        try:
            held.write(older, kind, 6)
            older.commit()
            outcome.append("written")
        except REFUSED as error:
            outcome.append(error)

    held.write(newer, kind, 7)
    thread = threading.Thread(target=late)
    thread.start()
    until(lambda: waits(held._place, watcher, older), 60)
    newer.commit()
    thread.join()
    assert isinstance(outcome[0], REFUSED)
    older.rollback()
    assert held.total() == 7


@pytest.mark.parametrize(("database", "kind", "level"), [("mariadb", "result", "REPEATABLE READ")])
def test_a_claim_in_an_old_transaction_finds_the_result_that_was_kept_meanwhile(held: Held) -> None:
    older, newer = held.connect(), held.connect()
    held._place.statement(older, "SELECT token FROM fencepost_result")
    held.write(newer, "result", 7)
    newer.commit()
    with pytest.raises(Stale):
        SqlResults(older).claim("orders", 6)
    assert SqlResults(older).claim("orders", 8) == "7"
