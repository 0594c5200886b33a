"""A call that is cancelled leaves no transaction behind, also where a thread of the library begins it afterwards."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import aiosqlite
import pytest

from fencepost.fences.result import AsyncSqlResults
from fencepost.fences.sql import AsyncRowFence, AsyncSqlFence

Call = Callable[[Any], Awaitable[object]]


async def _work(opened: Any) -> None:
    async with AsyncSqlResults(opened, together=True).work():
        pass


CALLS: dict[str, Call] = {
    "installing the fence": lambda opened: AsyncSqlFence(opened).install(),
    "showing a token": lambda opened: AsyncSqlFence(opened).claim("a", 7),
    "a fenced statement": lambda opened: AsyncSqlFence(opened).execute("a", 7, "UPDATE list SET words = 'x'"),
    "writing a row": lambda opened: AsyncRowFence(opened, "list").write(1, 7, words="x"),
    "claiming a result": lambda opened: AsyncSqlResults(opened).claim("a", 7),
    "keeping a result": lambda opened: AsyncSqlResults(opened).keep("a", 7, "x", None),
    "work with its result": _work,
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with sqlite3.connect(tmp_path / "place.db") as plain:
        plain.execute("CREATE TABLE list (id INTEGER PRIMARY KEY, words TEXT, fencing_token BIGINT DEFAULT 0)")
        plain.execute("INSERT INTO list (id) VALUES (1)")
    return tmp_path / "place.db"


@pytest.fixture
async def opened(path: Path) -> AsyncIterator[Any]:
    async with aiosqlite.connect(path, timeout=60) as opened:
        # Its tables are there, so that nothing but the call itself is interrupted.
        await AsyncSqlFence(opened).install()
        await AsyncSqlResults(opened).find("a")
        yield opened


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
async def test_a_call_that_is_cancelled_while_another_writes_leaves_no_transaction(
    path: Path, opened: Any, call: Call
) -> None:
    other = sqlite3.connect(path, isolation_level=None, timeout=60)
    other.execute("BEGIN IMMEDIATE")
    task = asyncio.ensure_future(call(opened))
    # So far it comes: its first statement is with the thread, and waits for the other one.
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.sleep(0)
    other.execute("COMMIT")
    with pytest.raises(asyncio.CancelledError):
        await task
    # Behind whatever the thread has to do still.
    await opened.execute("SELECT 1")
    assert not opened.in_transaction
    await AsyncRowFence(opened, "list").write(1, 8, words="kept")
    assert other.execute("SELECT words FROM list").fetchall() == [("kept",)]
    other.close()
