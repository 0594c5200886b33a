"""Fences inside Consul's key-value store: the mark and the guarded reads and writes are one transaction."""

from fencepost.fences.consul._async.fence import AsyncConsulFence, AsyncGuarded
from fencepost.fences.consul._sync.fence import ConsulFence, Guarded

__all__ = ["AsyncConsulFence", "AsyncGuarded", "ConsulFence", "Guarded"]
