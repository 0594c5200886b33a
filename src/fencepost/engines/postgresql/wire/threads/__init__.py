"""Blocking connections: the thread that asks reads the answer."""

from fencepost.engines.postgresql.wire.threads.connection import Connection, connect
from fencepost.engines.postgresql.wire.threads.ear import Ear
from fencepost.engines.postgresql.wire.threads.pool import Pool

__all__ = ["Connection", "Ear", "Pool", "connect"]
