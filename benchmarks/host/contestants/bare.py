"""The limits: what the operating system and SQLite cost with nothing around them, a token included."""

import fcntl
import os
import sqlite3
import time
from pathlib import Path

from benchmarks.contestant import Contestant

TAKE = "UPDATE lock SET holder = ?1, token = max(token + 1, ?2) WHERE name = ?3 AND holder IS NULL RETURNING token"
GIVE_BACK = "UPDATE lock SET holder = NULL WHERE name = ?1 AND token = ?2"
RETRY = 0.0001


class BareFlock(Contestant):
    """`flock` on a descriptor that stays open, and a counter in the file. Waiters sleep in the kernel."""

    name = "bare flock + counter"
    tokens = True

    def __init__(self, folder: Path) -> None:
        self._fd = os.open(folder / "flock", os.O_RDWR | os.O_CREAT, 0o600)
        if os.fstat(self._fd).st_size == 0:
            os.pwrite(self._fd, bytes(8), 0)

    def acquire(self) -> None:
        fd = self._fd
        fcntl.flock(fd, fcntl.LOCK_EX)
        token = int.from_bytes(os.pread(fd, 8, 0)) + 1
        os.pwrite(fd, token.to_bytes(8), 0)

    def release(self) -> None:
        fcntl.flock(self._fd, fcntl.LOCK_UN)

    def close(self) -> None:
        os.close(self._fd)


class BareSqlite(Contestant):
    """One commit to take a row, minting max(last + 1, clock in µs), one to give it back.

    No queue and no lease: whoever finds the row taken, or the file busy, naps 0.1 ms and tries again.
    """

    name = "bare SQLite, 2 commits"
    tokens = True

    def __init__(self, folder: Path) -> None:
        self._connection = sqlite3.connect(folder / "bare.db", isolation_level=None, timeout=10)
        execute = self._execute = self._connection.execute
        execute("PRAGMA page_size = 1024")
        self._to_wal()
        execute("PRAGMA synchronous = OFF")
        execute("CREATE TABLE IF NOT EXISTS lock (name TEXT PRIMARY KEY, token INTEGER, holder TEXT) WITHOUT ROWID")
        execute("INSERT OR IGNORE INTO lock VALUES ('lock', 0, NULL)")
        execute("PRAGMA busy_timeout = 0")
        self._holder = str(os.getpid())
        self._token = 0

    def _to_wal(self) -> None:
        """Where several do it at once SQLite does not wait, whatever the time-out says."""
        while True:
            try:
                self._execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                _check_busy(error)
            time.sleep(RETRY)

    def acquire(self) -> None:
        while True:
            try:
                rows = self._execute(TAKE, (self._holder, time.time_ns() // 1000, "lock")).fetchall()
                if rows:
                    self._token = rows[0][0]
                    return
            except sqlite3.OperationalError as error:
                _check_busy(error)
            time.sleep(RETRY)

    def release(self) -> None:
        while True:
            try:
                self._execute(GIVE_BACK, ("lock", self._token))
                return
            except sqlite3.OperationalError as error:
                _check_busy(error)
            time.sleep(RETRY)

    def close(self) -> None:
        self._connection.close()


def _check_busy(error: sqlite3.OperationalError) -> None:
    if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
        raise error
