"""Asynchronous connections: the event loop reads what comes, whoever asked for it."""

from fencepost.engines.postgresql.wire.aio.connection import Connection, connect
from fencepost.engines.postgresql.wire.aio.ear import Ear
from fencepost.engines.postgresql.wire.aio.pool import Pool

__all__ = ["Connection", "Ear", "Pool", "connect"]
