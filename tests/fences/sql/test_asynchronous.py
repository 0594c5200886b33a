"""The asynchronous fence, with each library it takes, keeps the law that the blocking one keeps."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from fencepost.errors import FencepostError, Stale
from fencepost.fences.sql import AsyncRowFence, AsyncSqlFence, SqlFence
from tests.support.fences.database import PostgresqlPlace, postgresql_url

# SQLAlchemy refuses by itself that a block ends the transaction, and gives up a connection whose task is cancelled.
PLAIN = ("psycopg", "psycopg-autocommit", "asyncpg", "aiosqlite")
KINDS = (*PLAIN, "sqlalchemy-asyncpg", "sqlalchemy-aiosqlite")


@pytest.fixture(params=[kind if kind in PLAIN else pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@asynccontextmanager
async def connection(kind: str, folder: Path) -> AsyncIterator[Any]:
    """A connection to the database of `folder`, which has a table `list` with one column."""
    library, _, mode = kind.partition("-")
    if "sqlite" not in kind:
        place = PostgresqlPlace(folder)
        place.close()
        schema = place.name
    if library == "psycopg":
        import psycopg

        async with await psycopg.AsyncConnection.connect(
            postgresql_url(), options=f"-c search_path={schema}", autocommit=mode == "autocommit"
        ) as opened:
            yield opened
    elif library == "asyncpg":
        import asyncpg

        opened = await asyncpg.connect(postgresql_url(), server_settings={"search_path": schema})
        yield opened
        await opened.close()
    elif library == "aiosqlite":
        import aiosqlite

        async with aiosqlite.connect(folder / "place.db") as file:
            await file.execute("CREATE TABLE IF NOT EXISTS list (words TEXT)")
            yield file
    else:
        from sqlalchemy.ext.asyncio import create_async_engine

        if mode == "asyncpg":
            url = postgresql_url().replace("://", "+asyncpg://")
            engine = create_async_engine(url, connect_args={"server_settings": {"search_path": schema}})
        else:
            engine = create_async_engine(f"sqlite+aiosqlite:///{folder}/place.db")
        async with engine.connect() as connected:
            if mode == "aiosqlite":
                await connected.exec_driver_sql("CREATE TABLE IF NOT EXISTS list (words TEXT)")
                await connected.commit()
            yield connected
        await engine.dispose()


async def run(opened: Any, sql: str) -> list[Any]:
    if hasattr(opened, "exec_driver_sql"):
        found = await opened.exec_driver_sql(sql)
        return [tuple(row) for row in found.fetchall()] if found.returns_rows else []
    if hasattr(opened, "fetch"):
        return [tuple(row) for row in await opened.fetch(sql)]
    cursor = await opened.execute(sql)
    return [tuple(row) for row in await cursor.fetchall()] if cursor.description else []


async def words(kind: str, folder: Path) -> list[Any]:
    async with connection(kind, folder) as other:
        return sorted(word for (word,) in await run(other, "SELECT words FROM list") if word != "[]")


async def test_a_lower_token_is_refused_and_an_equal_one_passes(kind: str, tmp_path: Path) -> None:
    async with connection(kind, tmp_path) as opened:
        fence = AsyncSqlFence(opened)
        assert await fence.highest("a") == 0
        for word in ("one", "two"):
            async with fence.guard("a", 7) as db:
                assert db is opened
                await run(db, f"INSERT INTO list VALUES ('{word}')")
        with pytest.raises(Stale) as refused:
            async with fence.guard("a", 6) as db:
                await run(db, "DELETE FROM list")
        assert (refused.value.name, refused.value.token, refused.value.highest) == ("a", 6, 7)
        assert await fence.highest("a") == 7
    assert await words(kind, tmp_path) == ["one", "two"]


async def test_a_block_that_raises_writes_nothing_and_its_claims_stand(kind: str, tmp_path: Path) -> None:
    async with connection(kind, tmp_path) as opened:
        fence = AsyncSqlFence(opened)
        with pytest.raises(ZeroDivisionError):
            async with fence.guard("a", 7) as db, fence.guard("b", 8):
                await run(db, "INSERT INTO list VALUES ('never')")
                raise ZeroDivisionError
        assert (await fence.highest("a"), await fence.highest("b")) == (7, 8)
    assert await words(kind, tmp_path) == []


async def test_a_guard_joins_the_transaction_it_finds(kind: str, tmp_path: Path) -> None:
    async with connection(kind, tmp_path) as opened:
        fence = AsyncSqlFence(opened)
        await fence.claim("b", 9)
        if kind != "psycopg" and not kind.startswith("sqlalchemy"):
            await run(opened, "BEGIN")
        await run(opened, "INSERT INTO list VALUES ('mine')")
        with pytest.raises(Stale):
            await fence.claim("b", 8)
        async with fence.guard("a", 7) as db:
            await run(db, "INSERT INTO list VALUES ('guarded')")
        assert await words(kind, tmp_path) == []
        await (opened.commit() if hasattr(opened, "commit") else run(opened, "COMMIT"))
    assert await words(kind, tmp_path) == ["guarded", "mine"]


@pytest.mark.parametrize("kind", PLAIN, indirect=True)
async def test_a_block_that_ends_its_transaction_is_told_so(kind: str, tmp_path: Path) -> None:
    async with connection(kind, tmp_path) as opened:
        fence = AsyncSqlFence(opened)
        with pytest.raises(FencepostError, match="ended its transaction"):
            async with fence.guard("a", 7) as db:
                await run(db, "COMMIT")
        await fence.claim("a", 8)


async def test_one_statement_behind_the_claim(kind: str, tmp_path: Path) -> None:
    async with connection(kind, tmp_path) as opened:
        fence = AsyncSqlFence(opened)
        for _ in range(2):
            assert (await fence.execute("a", 7, "INSERT INTO list VALUES ('x')")).changed == 1
        with pytest.raises(Stale):
            await fence.execute("a", 6, "DELETE FROM list")
        answer = await fence.execute("a", 8, "SELECT words FROM list WHERE words = 'x'")
        assert answer.rows == [("x",), ("x",)]
        with pytest.raises(Exception, match="nowhere"):
            await fence.execute("a", 9, "DELETE FROM nowhere")
        assert await fence.highest("a") == 8
    assert await words(kind, tmp_path) == ["x", "x"]


async def test_a_row_that_keeps_its_own_mark(kind: str, tmp_path: Path) -> None:
    async with connection(kind, tmp_path) as opened:
        await run(
            opened, "CREATE TABLE orders (id INT PRIMARY KEY, total INT, fencing_token BIGINT DEFAULT 0 NOT NULL)"
        )
        await run(opened, "INSERT INTO orders (id, total) VALUES (42, 100)")
        if hasattr(opened, "commit"):
            await opened.commit()
        fence = AsyncRowFence(opened, "orders")
        (total,) = await fence.read(42, 7, ["total"])
        await fence.write(42, 7, total=total + 5)
        with pytest.raises(Stale, match="token 6 for 'orders/42' is stale: token 7 was seen already"):
            await fence.write(42, 6, total=0)
        with pytest.raises(LookupError, match="no row of 'orders' has the key 43"):
            await fence.claim(43, 6)
        assert await fence.read(42, 8, ["total", "id"]) == (105, 42)
        assert await fence.highest(42) == 8


@pytest.mark.parametrize("kind", PLAIN, indirect=True)
async def test_a_cancelled_block_writes_nothing_and_its_claim_stands(kind: str, tmp_path: Path) -> None:
    async with connection(kind, tmp_path) as opened:
        fence = AsyncSqlFence(opened)
        inside = asyncio.Event()

        async def hang() -> None:
            async with fence.guard("a", 7) as db:
                await run(db, "INSERT INTO list VALUES ('never')")
                inside.set()
                await asyncio.sleep(30)

        task = asyncio.create_task(hang())
        await inside.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await fence.highest("a") == 7
        async with fence.guard("a", 7) as db:
            await run(db, "INSERT INTO list VALUES ('after')")
    assert await words(kind, tmp_path) == ["after"]


@pytest.mark.parametrize("kind", PLAIN, indirect=True)
async def test_who_is_cancelled_while_it_waits_for_its_claim_holds_nothing(kind: str, tmp_path: Path) -> None:
    async with connection(kind, tmp_path) as opened, connection(kind, tmp_path) as other:
        fence, rival = AsyncSqlFence(opened), AsyncSqlFence(other)
        await fence.install()
        async with rival.guard("a", 8):
            waiting = asyncio.create_task(fence.claim("a", 9))
            # Long enough to have begun, on most days. Cancelled earlier, it must hold nothing either.
            await asyncio.sleep(0.1)
            waiting.cancel()
        # Not before: a thread that waits for a SQLite file can not be interrupted, and its task waits for it.
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert await rival.highest("a") == 8
        await rival.claim("a", 8)
        await fence.claim("a", 9)


@pytest.mark.unit
def test_the_blocking_fence_takes_no_connection_of_sqlalchemy_for_asyncio() -> None:
    from sqlalchemy.ext.asyncio import AsyncConnection

    with pytest.raises(TypeError, match="not AsyncConnection"):
        SqlFence(AsyncConnection.__new__(AsyncConnection))
