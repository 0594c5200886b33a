"""Blocking connections: a caller takes a free one, or makes one."""

from fencepost.drivers.etcd.wire.threads.connection import Connection
from fencepost.drivers.etcd.wire.threads.ear import Ear
from fencepost.drivers.etcd.wire.threads.link import Link

__all__ = ["Connection", "Ear", "Link"]
