"""A registry of tokens in a SQL or Redis store, for resources that can not keep a number."""

from typing import TYPE_CHECKING

from fencepost._runtime.late import late, listing
from fencepost.fences.registry._sync.registry import Registry

if TYPE_CHECKING:
    from fencepost.fences.registry._async.registry import AsyncRegistry

__all__ = ["AsyncRegistry", "Registry"]

__getattr__ = late(
    __name__,
    {
        "AsyncRegistry": "fencepost.fences.registry._async.registry",
    },
)
__dir__ = listing(__name__)
