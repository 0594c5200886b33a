"""Where SQLAlchemy only thinks that it has a transaction, nothing passes: anybody could come before the write."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, event
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from fencepost.errors import FencepostError, Stale
from fencepost.eventlog import AsyncEventLog, EventLog
from fencepost.fences.result import AsyncSqlResults, SqlResults
from fencepost.fences.sql import AsyncSqlFence, RowFence, SqlFence
from tests.support.fences.database import SqlalchemyMariadbPlace, SqlalchemyPlace, SqlalchemySqlitePlace

PLACES = {"postgresql": SqlalchemyPlace, "mariadb": SqlalchemyMariadbPlace, "sqlite": SqlalchemySqlitePlace}
# However it was asked for: of SQLAlchemy, or of the library below it.
BY_THE_ENGINE: dict[str, Any] = {"isolation_level": "AUTOCOMMIT"}
BY_THE_LIBRARY: dict[str, dict[str, Any]] = {
    "postgresql": {"connect_args": {"autocommit": True}},
    "mariadb": {"connect_args": {"autocommit": True}},
    "sqlite": {"connect_args": {"isolation_level": None}},
}
REFUSED = "commits each statement by itself"
WRITE = "UPDATE list SET words = 'never'"


@pytest.fixture(params=PLACES)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def place(kind: str, tmp_path: Path) -> Iterator[SqlalchemyPlace]:
    place = PLACES[kind](tmp_path)
    SqlFence(place.connect()).install()
    yield place
    place.close()


@pytest.fixture(params=["engine", "option", "library"])
def connection(request: pytest.FixtureRequest, kind: str, place: SqlalchemyPlace) -> Iterator[Any]:
    options = {"engine": BY_THE_ENGINE, "library": BY_THE_LIBRARY[kind]}.get(request.param, {})
    engine = create_engine(place.url(), poolclass=NullPool, **options)
    with engine.connect() as connection:
        yield connection.execution_options(**BY_THE_ENGINE) if request.param == "option" else connection


def ways(connection: Any) -> list[Callable[[], object]]:
    def guard() -> None:
        with SqlFence(connection).guard("a", 7) as guarded:
            guarded.exec_driver_sql(WRITE)

    def work() -> None:
        with SqlResults(connection, together=True).work():
            connection.exec_driver_sql(WRITE)

    return [guard, lambda: SqlFence(connection).execute("a", 7, WRITE), work]


def test_nothing_passes_without_transactions(place: SqlalchemyPlace, connection: Any) -> None:
    for way in ways(connection):
        with pytest.raises(FencepostError, match=REFUSED):
            way()
        assert not connection.in_transaction()
    assert place.look() == []


def test_nothing_passes_in_what_is_no_transaction(kind: str, place: SqlalchemyPlace, connection: Any) -> None:
    if kind == "mariadb":
        # At its default level no guard may join.
        connection.exec_driver_sql("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
        connection.commit()
    with connection.begin():
        for way in ways(connection)[:2]:
            with pytest.raises(FencepostError, match=REFUSED):
                way()
    assert place.look() == []


def test_several_events_are_not_appended_without_transactions(kind: str, tmp_path: Path) -> None:
    if kind == "mariadb":
        with pytest.raises(FencepostError):
            EventLog(PLACES[kind](tmp_path).connect())
        return
    place = PLACES[kind](tmp_path)
    EventLog(place.connect()).install()
    with create_engine(place.url(), poolclass=NullPool, **BY_THE_ENGINE).connect() as connection:
        for begin in (lambda: None, connection.begin):
            begin()
            with pytest.raises(FencepostError, match=REFUSED):
                EventLog(connection).append("s", [1, 2], expected=0)
    assert EventLog(place.connect()).version("s") == 0
    place.close()


def test_a_row_needs_no_transaction(place: SqlalchemyPlace, connection: Any) -> None:
    setup = place.connect()
    place.statement(setup, "CREATE TABLE orders (id INT PRIMARY KEY, fencing_token BIGINT NOT NULL DEFAULT 0)")
    place.statement(setup, "INSERT INTO orders (id) VALUES (42)")
    setup.commit()
    RowFence(connection, "orders").claim(42, 7)
    with pytest.raises(Stale):
        RowFence(connection, "orders").claim(42, 6)


def test_a_transaction_that_the_user_begins_for_sqlalchemy_is_one(tmp_path: Path) -> None:
    # As SQLAlchemy's documentation has it for SQLite.
    place = SqlalchemySqlitePlace(tmp_path)
    engine = create_engine(place.url(), poolclass=NullPool, **BY_THE_LIBRARY["sqlite"])
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
    with engine.connect() as connection:
        fence = SqlFence(connection)
        with fence.guard("a", 7) as guarded:
            guarded.exec_driver_sql("UPDATE list SET words = '[7]'")
        fence.execute("a", 7, "UPDATE list SET words = '[77]'")
    looked: Sequence[object] = place.look()
    assert looked == [77]
    place.close()


@pytest.mark.parametrize("library", ["psycopg", "asyncpg", "aiosqlite"])
async def test_asynchronously_nothing_passes_without_transactions(library: str, tmp_path: Path) -> None:
    place = PLACES["sqlite" if library == "aiosqlite" else "postgresql"](tmp_path)
    url = place.url().partition("?")[0].replace("sqlite:", "sqlite+aiosqlite:").replace("+psycopg", f"+{library}")
    engine = create_async_engine(url, poolclass=NullPool, **BY_THE_ENGINE)
    async with engine.connect() as connection:
        fence, results = AsyncSqlFence(connection), AsyncSqlResults(connection, together=True)
        log = AsyncEventLog(connection)
        with pytest.raises(FencepostError, match=REFUSED):
            async with fence.guard("a", 7):
                raise AssertionError
        with pytest.raises(FencepostError, match=REFUSED):
            await fence.execute("a", 7, WRITE)
        with pytest.raises(FencepostError, match=REFUSED):
            async with results.work():
                raise AssertionError
        with pytest.raises(FencepostError, match=REFUSED):
            await log.append("s", [1, 2], expected=0)
    await engine.dispose()
    place.close()
