"""The embedded engine: `sqlite:///path`. Any number of processes on one Linux host, and no server."""

from fencepost.engines.sqlite._async.engine import AsyncSqliteEngine
from fencepost.engines.sqlite._sync.engine import SqliteEngine

AsyncEngine = AsyncSqliteEngine
Engine = SqliteEngine

__all__ = ["AsyncEngine", "AsyncSqliteEngine", "Engine", "SqliteEngine"]
