"""An append that is cancelled while it waits for the database leaves no transaction behind."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path

import aiosqlite
import pytest

from fencepost.eventlog import AsyncEventLog, Event

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
