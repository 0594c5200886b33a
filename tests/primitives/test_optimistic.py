"""Compare-and-swap on a version column, and the log that only grows."""

import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from psycopg import IsolationLevel

from fencepost.errors import Conflict, FencepostError, Stale, Unsupported
from fencepost.eventlog import AsyncEventLog, Event, EventLog
from fencepost.optimistic import AsyncTable, Row, Table
from fencepost.testing.condition import until
from tests.support.fences.database import DatabasePlace, MariadbPlace, PostgresqlPlace


class SqlitePlace(DatabasePlace):
    style = "?"

    def __init__(self, folder: Path) -> None:
        self.path = folder / "place.db"
        super().__init__(folder)

    def make(self) -> None:
        pass

    def open_connection(self) -> Any:
        return sqlite3.connect(self.path, timeout=60, check_same_thread=False)


PLACES = {"sqlite": SqlitePlace, "postgresql": PostgresqlPlace, "mariadb": MariadbPlace}


SQLITE = pytest.param("sqlite", marks=pytest.mark.unit)
MARIADB = pytest.param("mariadb", marks=pytest.mark.slow)


@pytest.fixture(params=[SQLITE, "postgresql", MARIADB])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[DatabasePlace]:
    place = PLACES[request.param](tmp_path)
    connection = place.connect()
    place.statement(connection, "CREATE TABLE orders (id INT PRIMARY KEY, total INT, version BIGINT DEFAULT 0)")
    place.statement(connection, "INSERT INTO orders (id, total) VALUES (42, 100)")
    place.commit(connection)
    yield place
    place.close()


def orders(place: DatabasePlace) -> Table:
    return Table(place.connect(), "orders", ["total"])


def add(amount: int) -> Any:
    def change(row: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"total": row["total"] + amount}

    return change


def test_a_swap_succeeds_once_for_each_version(place: DatabasePlace) -> None:
    table = orders(place)
    row = table.read(42)
    assert row == Row({"total": 100}, 0)
    assert table.swap(42, row.version, {"total": 105})
    assert not table.swap(42, row.version, {"total": 0})
    assert table.read(42) == Row({"total": 105}, 1)


def test_an_update_that_finds_somebody_quicker_reads_again(place: DatabasePlace) -> None:
    table, rival = orders(place), orders(place)
    seen: list[int] = []

    def change(row: Mapping[str, Any]) -> Mapping[str, Any]:
        seen.append(row["total"])
        if len(seen) == 1:
            rival.update(42, add(1))
        return {"total": row["total"] + 10}

    assert table.update(42, change) == Row({"total": 111}, 2)
    assert seen == [100, 101]


LEVELS = (IsolationLevel.READ_COMMITTED, IsolationLevel.REPEATABLE_READ, IsolationLevel.SERIALIZABLE)


@pytest.fixture
def postgresql(tmp_path: Path) -> Iterator[PostgresqlPlace]:
    place = PostgresqlPlace(tmp_path)
    connection = place.connect()
    connection.execute("CREATE TABLE orders (id INT PRIMARY KEY, total INT, version BIGINT DEFAULT 0)")
    connection.execute("INSERT INTO orders (id, total) VALUES (42, 100)")
    connection.commit()
    EventLog(connection).install()
    yield place
    place.close()


def waits(place: DatabasePlace, connection: Any) -> Any:
    """Whether this connection waits for a lock of another, to be asked again and again."""
    watcher, pid = place.connect(), connection.info.backend_pid
    watcher.autocommit = True
    sql = "SELECT count(*) FROM pg_locks WHERE NOT granted AND pid = %s"
    return lambda: watcher.execute(sql, [pid]).fetchone()[0]


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.name)
def test_an_update_that_waited_for_another_reads_again_at_any_level(
    postgresql: PostgresqlPlace, level: IsolationLevel
) -> None:
    rival, connection = postgresql.connect(), postgresql.connect()
    rival.isolation_level = connection.isolation_level = level
    table, done = Table(connection, "orders", ["total"]), []
    rival.execute("UPDATE orders SET total = total + 1, version = version + 1")
    update = threading.Thread(target=lambda: done.append(table.update(42, add(10))))
    update.start()
    until(waits(postgresql, connection), 60)
    rival.commit()
    update.join()
    assert done == [Row({"total": 111}, 2)]
    assert table.swap(42, 1, {"total": 0}) is False


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.name)
def test_an_append_that_waited_for_another_is_a_conflict_at_any_level(
    postgresql: PostgresqlPlace, level: IsolationLevel
) -> None:
    rival, connection = postgresql.connect(), postgresql.connect()
    rival.isolation_level = connection.isolation_level = level
    log, refused = EventLog(connection), []

    def append() -> None:
        try:
            log.append("a", ["second"], expected=0)
        except Exception as error:
            refused.append(type(error))

    assert rival.execute("SELECT 1").fetchone() == (1,)
    EventLog(rival).append("a", ["first"], expected=0)
    second = threading.Thread(target=append)
    second.start()
    until(waits(postgresql, connection), 60)
    rival.commit()
    second.join()
    assert refused == [Conflict]
    assert log.read("a") == [Event(1, "first")]


def test_an_update_gives_up_after_so_many_attempts(place: DatabasePlace) -> None:
    table, rival = orders(place), orders(place)

    def change(row: Mapping[str, Any]) -> Mapping[str, Any]:
        rival.update(42, add(1))
        return {"total": 0}

    with pytest.raises(Conflict, match="changed by others 3 times"):
        table.update(42, change, attempts=3)
    assert table.read(42).values["total"] == 103


def test_a_change_of_nothing_writes_nothing(place: DatabasePlace) -> None:
    assert orders(place).update(42, lambda row: {}) == Row({"total": 100}, 0)


def giving(value: Any) -> Callable[[Any], Any]:
    return lambda row: value


def test_a_change_in_place_is_told_and_no_row_is_returned_that_was_never_written(place: DatabasePlace) -> None:
    table = orders(place)

    def in_place(row: Any) -> Any:
        row["total"] += 1

    def half_in_place(row: Any) -> Any:
        row["total"] += 1
        return {}

    with pytest.raises(TypeError, match="change returned None: it returns the values to write"):
        table.update(42, in_place)
    assert table.update(42, half_in_place) == Row({"total": 100}, 0)
    nothing: tuple[Any, ...] = (0, [], "")
    for value in nothing:
        with pytest.raises(TypeError, match="values are a mapping"):
            table.update(42, giving(value))
    assert table.read(42) == Row({"total": 100}, 0)


@pytest.mark.unit
@pytest.mark.parametrize("events", [{"total": 1}, Row({}, 0)._asdict(), "paid", b"paid", 7])
def test_what_is_no_list_of_events_is_refused(tmp_path: Path, events: Any) -> None:
    """The keys of one event would be stored as events."""
    place = SqlitePlace(tmp_path)
    log = EventLog(place.connect())
    log.install()
    with pytest.raises(TypeError, match="events are a list, not"):
        log.append("a", events, expected=0)
    assert log.read("a") == []
    place.close()


def test_nothing_is_lost_between_threads(place: DatabasePlace) -> None:
    def work() -> None:
        table = orders(place)
        for _ in range(10):
            table.update(42, add(1), attempts=1000)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert orders(place).read(42) == Row({"total": 130}, 30)


def test_an_open_transaction_and_a_missing_row_are_named(place: DatabasePlace) -> None:
    with pytest.raises(LookupError, match="no row of 'orders' has the key 43"):
        orders(place).update(43, add(1))
    connection = place.connect()
    place.statement(connection, "UPDATE orders SET total = 1")
    with pytest.raises(FencepostError, match="one is open: commit it first"):
        Table(connection, "orders", ["total"]).update(42, add(1))
    connection.rollback()


async def test_the_asynchronous_table_does_the_same(tmp_path: Path) -> None:
    import aiosqlite

    async with aiosqlite.connect(tmp_path / "place.db") as connection:
        await connection.execute("CREATE TABLE orders (id INT PRIMARY KEY, total INT, version BIGINT DEFAULT 0)")
        await connection.execute("INSERT INTO orders (id, total) VALUES (42, 100)")
        await connection.commit()
        table = AsyncTable(connection, "orders", ["total"])
        assert await table.update(42, add(5)) == Row({"total": 105}, 1)
        log = AsyncEventLog(connection)
        await log.install()
        assert await log.append("orders/42", ["opened"], expected=0) == 1
        with pytest.raises(Conflict):
            await log.append("orders/42", ["opened"], expected=0)
        assert await log.read("orders/42") == [Event(1, "opened")]


# The event log


@pytest.fixture(params=[SQLITE, "postgresql"])
def logs(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[DatabasePlace]:
    place = PLACES[request.param](tmp_path)
    EventLog(place.connect()).install()
    yield place
    place.close()


def test_events_come_back_in_order_with_their_versions(logs: DatabasePlace) -> None:
    log = EventLog(logs.connect())
    assert (log.version("a"), log.read("a")) == (0, [])
    assert log.append("a", [{"opened": "é"}, {"paid": 5}], expected=0) == 2
    assert log.append("a", ["closed"], expected=2) == 3
    assert log.read("a") == [Event(1, {"opened": "é"}), Event(2, {"paid": 5}), Event(3, "closed")]
    assert log.read("a", after=2) == [Event(3, "closed")]
    assert (log.version("a"), log.version("b")) == (3, 0)


@pytest.mark.parametrize("expected", [0, 1, 3])
def test_an_append_at_another_version_is_a_conflict_and_appends_nothing(logs: DatabasePlace, expected: int) -> None:
    log = EventLog(logs.connect())
    log.append("a", ["one", "two"], expected=0)
    with pytest.raises(Conflict, match=f"stream 'a' is not at version {expected} any more"):
        log.append("a", ["x", "y"], expected=expected)
    assert log.version("a") == 2
    log.append("a", ["three"], expected=2)


def test_of_many_that_race_one_wins_each_version(logs: DatabasePlace) -> None:
    won: list[int] = []
    start = threading.Barrier(4)

    def work(number: int) -> None:
        log = EventLog(logs.connect())
        start.wait()
        for _ in range(10):
            version = log.version("a")
            try:
                log.append("a", [number], expected=version)
                won.append(version)
            except Conflict:
                pass

    threads = [threading.Thread(target=work, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    events = EventLog(logs.connect()).read("a")
    assert sorted(won) == list(range(len(events)))
    assert [event.version for event in events] == list(range(1, len(events) + 1))


def test_an_append_takes_part_in_the_callers_transaction(logs: DatabasePlace) -> None:
    connection = logs.connect()
    log = EventLog(connection)
    logs.statement(connection, "UPDATE list SET words = 'mine'")
    log.append("a", ["one"], expected=0)
    with pytest.raises(Conflict):
        log.append("a", ["x"], expected=0)
    connection.rollback()
    assert log.version("a") == 0
    logs.statement(connection, "UPDATE list SET words = 'mine'")
    log.append("a", ["one"], expected=0)
    connection.commit()
    assert EventLog(logs.connect()).version("a") == 1


def test_with_a_grant_a_stale_holder_appends_nothing(logs: DatabasePlace) -> None:
    log = EventLog(logs.connect())
    log.append("a", ["one"], expected=0, grant=7)
    with pytest.raises(Stale):
        log.append("a", ["late"], expected=1, grant=6)
    with pytest.raises(Conflict):
        log.append("a", ["twice"], expected=0, grant=7)
    assert log.version("a") == 1


@pytest.mark.slow
def test_mysql_is_told_at_once(tmp_path: Path) -> None:
    place = MariadbPlace(tmp_path)
    with pytest.raises(Unsupported, match="SQLite or PostgreSQL, not in MySQL"):
        EventLog(place.connect())
    place.close()
