"""The resource that the lock protects: one value in a SQLite database, changed by read, think, write."""

import json
import sqlite3
from pathlib import Path

BUSY = 5.0


class Ledger:
    """A list of entries stored as one value, so that whoever writes from an old read wipes out what came between."""

    def __init__(self, path: Path) -> None:
        self.connection = sqlite3.connect(path, timeout=BUSY, isolation_level=None)
        self.connection.execute("PRAGMA synchronous = OFF")
        self.connection.execute("CREATE TABLE IF NOT EXISTS ledger (id INTEGER PRIMARY KEY, entries TEXT NOT NULL)")
        self.connection.execute("INSERT OR IGNORE INTO ledger VALUES (1, '[]')")

    def read(self) -> list[str]:
        ((text,),) = self.connection.execute("SELECT entries FROM ledger")
        entries: list[str] = json.loads(text)
        return entries

    def write(self, entries: list[str]) -> None:
        self.connection.execute("UPDATE ledger SET entries = ?", (json.dumps(entries),))

    def close(self) -> None:
        self.connection.close()
