"""Where a database does not tell the mark, nothing passes."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pymysql
import pytest
from pymysql.cursors import Cursor
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.mysql.pymysql import MySQLDialect_pymysql
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.util import await_only

from fencepost.errors import Refused, Stale
from fencepost.fences.registry import AsyncRegistry
from fencepost.fences.result import AsyncSqlResults, SqlResults
from fencepost.fences.sql import AsyncRowFence, AsyncSqlFence, RowFence, SqlFence
from tests.support.fences.database import MariadbPlace, mariadb_port


class AsyncPymysql(MySQLDialect_pymysql):
    """MariaDB for SQLAlchemy's asynchronous engine, as aiomysql and asyncmy have it. It blocks, and says otherwise."""

    is_async = True
    supports_statement_cache = True

    def do_execute(self, cursor: Any, statement: Any, parameters: Any, context: Any = None) -> None:
        await_only(asyncio.sleep(0))
        super().do_execute(cursor, statement, parameters, context)  # type: ignore[no-untyped-call]


registry.register("mysql.blocking", __name__, "AsyncPymysql")


@asynccontextmanager
async def asynchronous(folder: Path) -> AsyncIterator[Any]:
    place = MariadbPlace(folder)
    place.close()
    engine = create_async_engine(f"mysql+blocking://root@127.0.0.1:{mariadb_port()}/{place.name}")
    async with engine.connect() as opened:
        yield opened
    await engine.dispose()


class MuteCursor(Cursor):  # type: ignore[misc]
    """A cursor of a library that tells neither what an insert was numbered nor how many rows an update changed."""

    lastrowid = property(lambda self: None, lambda self, value: None)
    rowcount = property(lambda self: -1, lambda self, value: None)


class MuteConnection(pymysql.Connection):  # type: ignore[misc]
    def cursor(self, cursor: Any = None) -> Any:
        return super().cursor(MuteCursor)


@pytest.fixture
def mute(tmp_path: Path) -> Iterator[Any]:
    place = MariadbPlace(tmp_path)
    connection = MuteConnection(host="127.0.0.1", port=mariadb_port(), user="root", database=place.name)
    yield connection
    connection.close()
    place.close()


@pytest.mark.parametrize("made", [AsyncSqlFence, AsyncRegistry, AsyncSqlResults, lambda at: AsyncRowFence(at, "list")])
async def test_an_asynchronous_mysql_is_refused_before_any_token_is_shown(
    made: Callable[[Any], object], tmp_path: Path
) -> None:
    async with asynchronous(tmp_path) as opened:
        with pytest.raises(TypeError, match="MySQL and MariaDB through blocking connections only"):
            made(opened)


def test_nothing_passes_where_the_mark_is_not_told(mute: Any) -> None:
    fence = SqlFence(mute)
    for attempt in (
        lambda: fence.claim("a", 7),
        lambda: fence.execute("a", 7, "INSERT INTO list VALUES ('never')"),
        lambda: fence.guard("a", 7).__enter__(),
    ):
        with pytest.raises(Refused, match="does not tell the mark of 'a'"):
            attempt()
    assert fence.highest("a") == 0


def test_a_row_does_not_pass_where_the_changed_rows_are_not_counted(mute: Any) -> None:
    cursor = mute.cursor()
    cursor.execute("CREATE TABLE orders (id INT PRIMARY KEY, total INT, fencing_token BIGINT NOT NULL DEFAULT 0)")
    cursor.execute("INSERT INTO orders (id, total) VALUES (42, 100)")
    mute.commit()
    fence = RowFence(mute, "orders")
    fence.write(42, 7, total=101)
    with pytest.raises(Stale):
        fence.write(42, 6, total=0)
    with pytest.raises(LookupError):
        fence.write(43, 6, total=0)
    assert fence.read(42, 7, ["total"]) == (101,)


def test_a_result_is_not_kept_where_the_changed_rows_are_not_counted(mute: Any) -> None:
    results = SqlResults(mute)
    results.claim("a", 7)
    with pytest.raises(Stale):
        results.keep("a", 6, '"late"', None)
    results.keep("a", 7, '"mine"', None)
    assert results.find("a") == '"mine"'
