# Written by hand; the blocking twin under _sync is generated from it.
"""Cells of the embedded engine: read, changed, and watched without polling."""

import sqlite3
from collections.abc import Callable
from typing import TypeVar

from fencepost._runtime import aio as runtime
from fencepost._runtime.clock import LONGEST_NAP
from fencepost.contract.answer import Cell
from fencepost.engines.sqlite.cell import CellFile
from fencepost.engines.sqlite.mailbox import LONGEST, Letter, Mailbox
from fencepost.engines.sqlite.trouble import explain
from fencepost.errors import EngineError

T = TypeVar("T")


class AsyncCells:
    def __init__(self, path: str, clock: runtime.Clock, patience: float) -> None:
        self._file = CellFile(path, patience)
        self._path = self._file.path
        self._mail = self._path + "-mail"
        self._sender = Mailbox(self._mail)
        self._now = clock.now
        self._closed = False

    async def read(self, key: str) -> Cell:
        return await self._do(self._file.read, key)

    async def write(self, key: str, value: str | None, version: int) -> Cell | None:
        return await self._do(self._write, key, value, version)

    def _write(self, key: str, value: str | None, version: int) -> Cell | None:
        # Told in the same thread: whoever cancels the caller does not end it.
        cell, told = self._file.write(key, value, version)
        for mailbox in told:
            if not self._sender.send(Letter(mailbox, "", 0)):
                # Whoever it was died without a word.
                self._sender.unlink(mailbox)
        return cell

    async def watch(self, key: str, version: int, timeout: float) -> Cell:
        until = self._now() + timeout
        box = Mailbox(self._mail)
        try:
            while True:
                if not box.is_there():
                    # Not made yet, or somebody has cleared it away.
                    box.move_out()
                    box.open()
                cell = await self._do(self._file.watch, key, box.name)
                if cell.version != version or self._closed or self._now() >= until:
                    return cell
                inbox, told = runtime.Inbox(box.inbox, LONGEST), None
                while told is None and box.is_there() and not self._closed and (left := until - self._now()) > 0:
                    told = await inbox.receive(min(left, LONGEST_NAP))
                    if told is None and not self._file.is_at_path():
                        # Whoever changes a cell now finds no watcher.
                        break
        except OSError as error:
            raise explain(error, self._path) from error
        finally:
            try:
                await runtime.shielded(self._forget(key, box.name))
            finally:
                box.close()

    async def _forget(self, key: str, mailbox: str) -> None:
        try:
            await self._do(self._file.unwatch, key, mailbox)
        except EngineError:
            # The first letter that finds nobody there clears it away.
            pass

    async def _do(self, work: Callable[..., T], *args: object) -> T:
        """In a thread of its own: it may wait for the disk."""
        try:
            return await runtime.in_thread(work, *args)
        except (sqlite3.Error, OSError) as error:
            raise explain(error, self._path) from error

    def close(self) -> None:
        self._closed = True
        self._file.close()
        self._sender.close()

    def abandon(self) -> None:
        self._file.abandon()
        self._sender.abandon()
