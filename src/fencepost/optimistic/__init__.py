"""No lock at all: read, change, and swap only if nobody else has changed it meanwhile."""

from typing import TYPE_CHECKING

from fencepost._runtime.late import late, listing
from fencepost.optimistic._sync.table import Table
from fencepost.optimistic.row import Row

if TYPE_CHECKING:
    from fencepost.optimistic._async.table import AsyncTable

__all__ = ["AsyncTable", "Row", "Table"]

__getattr__ = late(__name__, {"AsyncTable": "fencepost.optimistic._async.table"})
__dir__ = listing(__name__)
