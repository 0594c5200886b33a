"""Asynchronous connections: one for all callers, whose calls run side by side on it."""

from fencepost.drivers.etcd.wire.aio.connection import Connection
from fencepost.drivers.etcd.wire.aio.ear import Ear
from fencepost.drivers.etcd.wire.aio.link import Link

__all__ = ["Connection", "Ear", "Link"]
