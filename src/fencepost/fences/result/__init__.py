"""Results of once-only work, kept behind a fence: whoever is overtaken can not commit one."""

from typing import TYPE_CHECKING

from fencepost._runtime.late import late, listing
from fencepost.fences.result._sync.file import FileResults
from fencepost.fences.result._sync.memory import MemoryResults
from fencepost.fences.result._sync.redis import RedisResults
from fencepost.fences.result._sync.sql import SqlResults
from fencepost.fences.result._sync.store import Results

if TYPE_CHECKING:
    from fencepost.fences.result._async.file import AsyncFileResults
    from fencepost.fences.result._async.memory import AsyncMemoryResults
    from fencepost.fences.result._async.redis import AsyncRedisResults
    from fencepost.fences.result._async.sql import AsyncSqlResults
    from fencepost.fences.result._async.store import AsyncResults

__all__ = [
    "AsyncFileResults",
    "AsyncMemoryResults",
    "AsyncRedisResults",
    "AsyncResults",
    "AsyncSqlResults",
    "FileResults",
    "MemoryResults",
    "RedisResults",
    "Results",
    "SqlResults",
]

__getattr__ = late(
    __name__,
    {
        "AsyncFileResults": "fencepost.fences.result._async.file",
        "AsyncMemoryResults": "fencepost.fences.result._async.memory",
        "AsyncRedisResults": "fencepost.fences.result._async.redis",
        "AsyncSqlResults": "fencepost.fences.result._async.sql",
        "AsyncResults": "fencepost.fences.result._async.store",
    },
)
__dir__ = listing(__name__)
