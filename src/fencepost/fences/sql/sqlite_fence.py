"""The fence in a SQLite database, for those who have nothing else."""

import sqlite3

from fencepost.fences.sql._sync.fence import SqlFence


class SqliteFence(SqlFence):
    """A `SqlFence` that takes a `sqlite3.Connection`, and nothing else.

    A guard is one `BEGIN IMMEDIATE … COMMIT`. The connection's `timeout` says how long it waits for other writers.
    Tables of attached databases are guarded too, but after a power cut in WAL mode may disagree with the mark.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        if not isinstance(connection, sqlite3.Connection):
            raise TypeError(f"a SQLite fence takes a sqlite3.Connection, not {type(connection).__name__}")
        super().__init__(connection)
