"""Small values beside the locks, in a file of their own that outlives a reboot.

They change seldom and must not be forgotten: a rollback journal and full synchronization, where the locks
have neither.
"""

import os
import sqlite3
from collections.abc import Callable
from importlib.resources import files
from typing import TypeVar

from fencepost._runtime.state import StateLock
from fencepost.contract.answer import Cell
from fencepost.core.malformed import is_integer, is_text
from fencepost.drivers.sqlite import JOURNALS, check_journals, check_schema
from fencepost.engines.sqlite.inheritance import never_close
from fencepost.engines.sqlite.location import check_owner, make_folder
from fencepost.engines.sqlite.origin import check_origin
from fencepost.errors import Refused

T = TypeVar("T")
SCHEMA = (files(__package__) / "cells.sql").read_text()
EMPTY = Cell(None, 0)
BESIDE = ("", *JOURNALS)


class CellFile:
    """One connection, used by one thread at a time."""

    def __init__(self, path: str, patience: float) -> None:
        """`path` is that of the lock state."""
        self._beside = path
        self.path = path + "-cells"
        self._patience = patience
        self._connection: sqlite3.Connection | None = None
        # Device and inode of the file that is open.
        self._identity: tuple[int, int] | None = None
        self._closed = False
        self._use = StateLock()

    def read(self, key: str) -> Cell:
        return self._do(self._read, key)

    def write(self, key: str, value: str | None, version: int) -> tuple[Cell | None, list[str]]:
        """The cell after the change, or None; and the mailboxes of those to be told."""
        return self._do(self._write, key, value, version)

    def watch(self, key: str, mailbox: str) -> Cell:
        """What it holds; the next change from there on will be told."""
        return self._do(self._watch, key, mailbox)

    def unwatch(self, key: str, mailbox: str) -> None:
        self._do(self._unwatch, key, mailbox)

    def close(self) -> None:
        with self._use:
            self._closed = True
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()

    def abandon(self) -> None:
        """In a forked child: the connection is the parent's."""
        if self._connection is not None:
            never_close(self._connection)
        self._connection = None
        self._use = StateLock()

    def _do(self, work: Callable[..., T], *args: object) -> T:
        with self._use:
            try:
                return work(self._open(), *args)
            except sqlite3.OperationalError:
                # What a file knew that was lost meanwhile is gone, whether or not this was written to it.
                if self._connection is None or self.is_at_path():
                    raise
            return work(self._open(), *args)

    def _write(
        self, connection: sqlite3.Connection, key: str, value: str | None, version: int
    ) -> tuple[Cell | None, list[str]]:
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            if self._read(connection, key).version != version:
                return None, []
            cell = self._change(connection, key, value)
            told = connection.execute("DELETE FROM watcher WHERE key = ? RETURNING mailbox", (key,)).fetchall()
        return cell, [mailbox for (mailbox,) in told]

    def _watch(self, connection: sqlite3.Connection, key: str, mailbox: str) -> Cell:
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT OR IGNORE INTO watcher VALUES (?, ?)", (key, mailbox))
            return self._read(connection, key)

    def _unwatch(self, connection: sqlite3.Connection, key: str, mailbox: str) -> None:
        connection.execute("DELETE FROM watcher WHERE key = ? AND mailbox = ?", (key, mailbox))

    def is_at_path(self) -> bool:
        """Whether the file that is open is the one that others find."""
        try:
            status = os.stat(self.path)
        except FileNotFoundError:
            return False
        return (status.st_dev, status.st_ino) == self._identity

    def _open(self) -> sqlite3.Connection:
        if self._closed:
            raise sqlite3.ProgrammingError("it was closed here")
        if self._connection is not None and not self.is_at_path():
            # Deleted, moved or replaced under us. A change that is being written to it now is gone with it.
            connection, self._connection = self._connection, None
            connection.close()
        if self._connection is None:
            if not os.path.lexists(self.path):
                # Nothing is made beside what is somebody else's.
                check_origin(self._beside)
            make_folder(os.path.dirname(self.path))
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
            check_journals(self.path)
            check_owner(*(self.path + ending for ending in BESIDE))
            connection = sqlite3.connect(
                self.path, timeout=self._patience, isolation_level=None, check_same_thread=False
            )
            try:
                connection.execute("PRAGMA synchronous = FULL")
                check_schema(connection, self.path, SCHEMA)
                check_owner(*(self.path + ending for ending in BESIDE))
                connection.executescript(f"BEGIN IMMEDIATE; {SCHEMA} COMMIT;")
            except BaseException:
                connection.close()
                raise
            status = os.stat(self.path)
            self._identity = (status.st_dev, status.st_ino)
            self._connection = connection
        return self._connection

    def _read(self, connection: sqlite3.Connection, key: str) -> Cell:
        row = connection.execute("SELECT value, version FROM cell WHERE key = ?", (key,)).fetchone()
        if row is None:
            return EMPTY
        if not is_text(row[0]) or not is_integer(row[1]):
            raise Refused(f"a cell in '{self.path}' is not as fencepost writes it: remove it")
        return Cell(*row)

    def _change(self, connection: sqlite3.Connection, key: str, value: str | None) -> Cell:
        if value is None:
            connection.execute("DELETE FROM cell WHERE key = ?", (key,))
            return EMPTY
        ((version,),) = connection.execute("UPDATE change SET version = version + 1 RETURNING version").fetchall()
        connection.execute("INSERT OR REPLACE INTO cell VALUES (?, ?, ?)", (key, value, version))
        return Cell(value, version)
