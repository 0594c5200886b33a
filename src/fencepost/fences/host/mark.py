"""The marks of a host, in a SQLite file."""

import os
from contextlib import closing

from fencepost.fences.private import open_private
from fencepost.fences.sql.sqlite_fence import SqliteFence


def raise_mark(path: str, name: str, token: int) -> None:
    """On disk when this returns; `Stale` if the token is lower than the mark."""
    with closing(open_private(path)) as connection:
        SqliteFence(connection).claim(name, token)


def highest(path: str, name: str) -> int:
    if not os.path.exists(path):
        return 0
    with closing(open_private(path)) as connection:
        return SqliteFence(connection).highest(name)
