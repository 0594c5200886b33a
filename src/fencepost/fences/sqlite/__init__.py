"""A fence inside a SQLite database: the mark and the guarded writes commit together."""

from fencepost.fences.sqlite.fence import SqliteFence

__all__ = ["SqliteFence"]
