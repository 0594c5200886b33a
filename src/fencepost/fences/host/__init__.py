"""Durable marks on this host, for resources that have no place of their own for a number."""

from typing import TYPE_CHECKING

from fencepost._runtime.late import late, listing
from fencepost.fences.host._sync.fence import HostFence

if TYPE_CHECKING:
    from fencepost.fences.host._async.fence import AsyncHostFence

__all__ = ["AsyncHostFence", "HostFence"]

__getattr__ = late(
    __name__,
    {
        "AsyncHostFence": "fencepost.fences.host._async.fence",
    },
)
__dir__ = listing(__name__)
