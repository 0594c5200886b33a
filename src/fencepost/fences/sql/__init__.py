"""Fences inside a database: the mark and the guarded writes commit together."""

from fencepost.fences.sql._async.column import AsyncRowFence
from fencepost.fences.sql._async.fence import AsyncSqlFence
from fencepost.fences.sql._sync.column import RowFence
from fencepost.fences.sql._sync.fence import SqlFence
from fencepost.fences.sql.sqlite_fence import SqliteFence

__all__ = ["AsyncRowFence", "AsyncSqlFence", "RowFence", "SqlFence", "SqliteFence"]
