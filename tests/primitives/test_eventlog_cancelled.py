"""An append or a swap that is cancelled while it waits for the database leaves no transaction behind."""

import asyncio
import sqlite3
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

import aiosqlite
import pytest

from fencepost.eventlog import AsyncEventLog, Event
from fencepost.optimistic import AsyncTable, Row

pytestmark = pytest.mark.unit


async def cancelled_in_begin(
    connection: aiosqlite.Connection, path: Path, work: Callable[[], Awaitable[object]]
) -> None:
    """Cancel `work` while the thread of its connection waits for another writer, who then lets it go on."""
    rival = sqlite3.connect(path, isolation_level=None)
    begun = asyncio.Event()
    loop = asyncio.get_running_loop()
    await connection.set_trace_callback(lambda _: loop.call_soon_threadsafe(begun.set))
    rival.execute("BEGIN IMMEDIATE")
    task = asyncio.ensure_future(work())
    await begun.wait()
    task.cancel()
    loop.call_later(0.1, rival.execute, "COMMIT")
    with pytest.raises(asyncio.CancelledError):
        await task
    await connection.set_trace_callback(None)  # type: ignore[arg-type]
    assert not connection.in_transaction
    rival.execute("BEGIN IMMEDIATE")
    rival.close()


async def test_what_is_appended_after_a_cancelled_append_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    async with aiosqlite.connect(path, timeout=60) as connection:
        log = AsyncEventLog(connection)
        await log.install()
        await cancelled_in_begin(connection, path, lambda: log.append("a", ["lost"], expected=0))
        assert await log.append("a", ["kept"], expected=0) == 1
    async with aiosqlite.connect(path) as connection:
        assert await AsyncEventLog(connection).read("a") == [Event(1, "kept")]


async def test_a_cancelled_installation_leaves_no_transaction(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    async with aiosqlite.connect(path, timeout=60) as connection:
        await cancelled_in_begin(connection, path, AsyncEventLog(connection).install)


async def test_a_swap_that_is_cancelled_before_it_began_leaves_no_transaction(tmp_path: Path) -> None:
    gate = threading.Event()
    async with aiosqlite.connect(tmp_path / "shop.db") as connection:
        await connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, total INTEGER, version INTEGER)")
        await connection.execute("INSERT INTO orders VALUES (42, 100, 0)")
        await connection.commit()
        await connection.create_function("pause", 0, gate.wait)
        orders = AsyncTable(connection, "orders", ["total"])
        # Its thread is busy, so that what is asked of it now is done after it was given up.
        busy = asyncio.ensure_future(connection.execute("SELECT pause()"))
        swap = asyncio.ensure_future(orders.swap(42, 0, {"total": 1}))
        await asyncio.sleep(0)
        swap.cancel()
        asyncio.get_running_loop().call_later(0.01, gate.set)
        with pytest.raises(asyncio.CancelledError):
            await swap
        await (await busy).fetchall()
        assert not connection.in_transaction
        assert await orders.read(42) == Row({"total": 100}, 0)
