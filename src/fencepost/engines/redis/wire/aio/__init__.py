"""Connections of an event loop."""

from fencepost.engines.redis.wire.aio.connection import Connection, connect
from fencepost.engines.redis.wire.aio.ear import Ear
from fencepost.engines.redis.wire.aio.link import Link, scatter

__all__ = ["Connection", "Ear", "Link", "connect", "scatter"]
