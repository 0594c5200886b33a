"""Guarded reads and writes in the ZooKeeper of a kazoo client."""

from fencepost.fences.zookeeper._async.fence import AsyncGuarded, AsyncZookeeperFence
from fencepost.fences.zookeeper._sync.fence import Guarded, ZookeeperFence

__all__ = ["AsyncGuarded", "AsyncZookeeperFence", "Guarded", "ZookeeperFence"]
