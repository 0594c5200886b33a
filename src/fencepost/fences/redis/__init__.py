"""Fences inside Redis or Valkey: the mark and the guarded commands are one script."""

from fencepost.fences.redis._async.fence import AsyncGuarded, AsyncRedisFence
from fencepost.fences.redis._sync.fence import Guarded, RedisFence

__all__ = ["AsyncGuarded", "AsyncRedisFence", "Guarded", "RedisFence"]
