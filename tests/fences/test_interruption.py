"""An exception out of a signal handler, at each point of a fence's calls: the next guard guards as ever."""

import itertools
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fencepost.errors import Conflict, Stale
from fencepost.eventlog import EventLog
from fencepost.fences import FileFence
from fencepost.fences.result import SqlResults
from fencepost.fences.sql import SqlFence
from tests.support.interruption import interrupt_at

pytestmark = pytest.mark.unit
# No signal is taken where an exception is thrown into a generator.
UNTAKEN = ("call guard", "call work", "call _transaction")


def interrupted_everywhere(work: Callable[[], object]) -> Iterator[str]:
    """Interrupt the work at each of its points: where that was."""
    for point in itertools.count():
        where = interrupt_at(point, work)
        if where is None:
            assert point > 20
            return
        yield where


# A file that was interrupted while it was opened is closed when it is collected.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_no_thread_stays_inside_the_guard_of_a_file(tmp_path: Path) -> None:
    fence, other = FileFence(tmp_path / "report.csv"), FileFence(tmp_path / "report.csv")

    def work() -> None:
        with fence.guard("a", 5) as file:
            file.write(b"interrupted")

    for where in interrupted_everywhere(work):
        # Whoever is still inside is given the file of the guard that has ended, and waits for no lock.
        with other.guard("b", 5) as file:
            file.write(b"next")
        assert fence.read("b", 5) == b"next", where


@pytest.fixture(params=["", None])
def connection(request: pytest.FixtureRequest, tmp_path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(tmp_path / "shop.db", isolation_level=request.param)
    connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, total INTEGER)")
    connection.execute("INSERT INTO orders VALUES (42, 0)")
    connection.commit()
    return connection


def guard_that_raises(connection: sqlite3.Connection) -> Callable[[], object]:
    fence = SqlFence(connection)

    def work() -> None:
        with fence.guard("a", 5), fence.guard("b", 5):
            raise ZeroDivisionError

    return work


def statement_that_is_stale(connection: sqlite3.Connection) -> Callable[[], object]:
    fence = SqlFence(connection)
    fence.claim("a", 5)
    return lambda: fence.execute("a", 4, "UPDATE orders SET total = 4")


def work_that_raises(connection: sqlite3.Connection) -> Callable[[], object]:
    results = SqlResults(connection, together=True)
    results.claim("a", 5)

    def work() -> None:
        with results.work():
            results.keep("a", 5, "1", None)
            raise ZeroDivisionError

    return work


def append_that_comes_too_late(connection: sqlite3.Connection) -> Callable[[], object]:
    log = EventLog(connection)
    log.install()
    return lambda: log.append("s", [1, 2], expected=5)


@pytest.mark.parametrize(
    "prepare", [guard_that_raises, statement_that_is_stale, work_that_raises, append_that_comes_too_late]
)
def test_no_transaction_is_left_that_later_guards_would_join(
    connection: sqlite3.Connection, prepare: Callable[[sqlite3.Connection], Callable[[], object]]
) -> None:
    attempt = prepare(connection)

    def work() -> None:
        try:
            attempt()
        except (Stale, Conflict, ZeroDivisionError):
            pass

    work()
    for where in interrupted_everywhere(work):
        if any(each in where for each in UNTAKEN):
            connection.rollback()
        # What joins a transaction commits nothing.
        assert not connection.in_transaction, where
    connection.close()
