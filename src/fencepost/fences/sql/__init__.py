"""Fences inside a database: the mark and the guarded writes commit together."""

from typing import TYPE_CHECKING

from fencepost._runtime.late import late, listing
from fencepost.fences.sql._sync.column import RowFence
from fencepost.fences.sql._sync.fence import SqlFence
from fencepost.fences.sql.sqlite_fence import SqliteFence

if TYPE_CHECKING:
    from fencepost.fences.sql._async.column import AsyncRowFence
    from fencepost.fences.sql._async.fence import AsyncSqlFence

__all__ = ["AsyncRowFence", "AsyncSqlFence", "RowFence", "SqlFence", "SqliteFence"]

__getattr__ = late(
    __name__,
    {
        "AsyncRowFence": "fencepost.fences.sql._async.column",
        "AsyncSqlFence": "fencepost.fences.sql._async.fence",
    },
)
__dir__ = listing(__name__)
