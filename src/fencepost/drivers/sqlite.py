"""Whether a database file that others may have put there is one that can be opened and asked.

In a folder for everybody, somebody else may have been first. What is no file keeps whoever opens it waiting, or leads
to a file of ours that SQLite then writes over; and a view or a trigger may be such that no statement ever ends.
"""

import os
import sqlite3
import stat
from functools import cache

from fencepost.errors import Refused

JOURNALS = ("-journal", "-wal", "-shm")
# All that does something when it is asked, where a table or an index only has something.
ACTIVE = "SELECT name, sql FROM sqlite_schema WHERE type NOT IN ('table', 'index') OR rootpage = 0"


def check_journals(path: str) -> None:
    """`Refused` if what SQLite would take for a journal of the database at `path` is no file."""
    for journal in JOURNALS:
        try:
            mode = os.lstat(path + journal).st_mode
        except OSError:
            # There is none, or the folder can not be read: whoever opens the database finds out.
            continue
        if not stat.S_ISREG(mode):
            raise Refused(f"'{path}{journal}' is not a file: remove it, or choose another path")


def check_schema(connection: sqlite3.Connection, path: str, schema: str) -> None:
    """`Refused` if the database has views or triggers, or tables that are none, beside those of `schema`."""
    for name, text in connection.execute(ACTIVE).fetchall():
        if (name, text) not in _active(schema):
            raise Refused(
                f"'{path}' was changed by somebody else ('{name}' is not ours): remove it, or choose another path"
            )


@cache
def _active(schema: str) -> frozenset[tuple[str, str]]:
    connection = sqlite3.connect(":memory:")
    try:
        connection.executescript(schema)
        return frozenset(connection.execute(ACTIVE).fetchall())
    finally:
        connection.close()
