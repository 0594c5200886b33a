"""A registry of tokens in a SQL or Redis store, for resources that can not keep a number."""

from fencepost.fences.registry._async.registry import AsyncRegistry
from fencepost.fences.registry._sync.registry import Registry

__all__ = ["AsyncRegistry", "Registry"]
