"""The marks of a host, in a SQLite file."""

import os
import sqlite3
from contextlib import closing

from fencepost.fences.sql.sqlite_fence import SqliteFence

PATIENCE = 60.0


def raise_mark(path: str, name: str, token: int) -> None:
    """On disk when this returns; `Stale` if the token is lower than the mark."""
    with closing(_open(path)) as connection:
        SqliteFence(connection).claim(name, token)


def highest(path: str, name: str) -> int:
    if not os.path.exists(path):
        return 0
    with closing(_open(path)) as connection:
        return SqliteFence(connection).highest(name)


def _open(path: str) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=PATIENCE)
