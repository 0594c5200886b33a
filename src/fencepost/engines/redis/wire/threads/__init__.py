"""Connections of a process of threads."""

from fencepost.engines.redis.wire.threads.connection import Connection, connect
from fencepost.engines.redis.wire.threads.ear import Ear
from fencepost.engines.redis.wire.threads.link import Link, scatter

__all__ = ["Connection", "Ear", "Link", "connect", "scatter"]
