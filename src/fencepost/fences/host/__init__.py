"""Durable marks on this host, for resources that have no place of their own for a number."""

from fencepost.fences.host._async.fence import AsyncHostFence
from fencepost.fences.host._sync.fence import HostFence

__all__ = ["AsyncHostFence", "HostFence"]
