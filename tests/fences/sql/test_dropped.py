"""A transaction that the database has dropped is none to join."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pymysql
import pytest

from fencepost.errors import FencepostError
from fencepost.fences.sql import SqlFence
from fencepost.testing.condition import until
from tests.support.fences.database import MariadbAutocommitPlace, waits


@pytest.fixture
def place(tmp_path: Path) -> Iterator[MariadbAutocommitPlace]:
    place = MariadbAutocommitPlace(tmp_path)
    connection = place.connect()
    place.statement(connection, "CREATE TABLE orders (id INT PRIMARY KEY, total INT)")
    place.statement(connection, "INSERT INTO orders VALUES (1, 0), (2, 0), (3, 0), (4, 0)")
    SqlFence(connection).install()
    yield place
    place.close()


def test_no_guard_joins_a_transaction_that_a_deadlock_has_ended(place: MariadbAutocommitPlace) -> None:
    victim, other, watcher = (place.connect() for _ in range(3))
    for connection in (victim, other):
        place.statement(connection, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
        place.statement(connection, "BEGIN")
    place.statement(victim, "UPDATE orders SET total = 1 WHERE id = 1")
    # The one that has changed less is the victim.
    place.statement(other, "UPDATE orders SET total = 2 WHERE id > 1")
    waiting = threading.Thread(target=place.statement, args=[other, "UPDATE orders SET total = 2 WHERE id = 1"])
    waiting.start()
    until(lambda: waits(place, watcher, other), 60)
    with pytest.raises(pymysql.err.OperationalError, match="Deadlock"):
        place.statement(victim, "UPDATE orders SET total = 1 WHERE id = 2")
    waiting.join()
    other.rollback()
    with pytest.raises(FencepostError, match="is over: roll back, begin anew"), SqlFence(victim).guard("orders", 5):
        place.statement(victim, "UPDATE orders SET total = 5 WHERE id = 3")
    assert place.statement(watcher, "SELECT total FROM orders WHERE id = 3") == [(0,)]
    victim.rollback()
    with SqlFence(victim).guard("orders", 5):
        place.statement(victim, "UPDATE orders SET total = 5 WHERE id = 3")
    assert place.statement(watcher, "SELECT total FROM orders WHERE id = 3") == [(5,)]
