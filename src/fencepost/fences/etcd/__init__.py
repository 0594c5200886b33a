"""Fences inside etcd: the mark and the guarded reads and writes are one transaction."""

from fencepost.fences.etcd._async.fence import AsyncEtcdFence, AsyncGuarded
from fencepost.fences.etcd._sync.fence import EtcdFence, Guarded

__all__ = ["AsyncEtcdFence", "AsyncGuarded", "EtcdFence", "Guarded"]
