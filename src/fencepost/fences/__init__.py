"""Fences: the check at the protected resource. They need no lock client, and know none."""

from fencepost.fences.file import FileFence, GuardedFile
from fencepost.fences.memory import MemoryFence
from fencepost.fences.protocol import Fence, Tokened, check, token_of
from fencepost.fences.sql.sqlite_fence import SqliteFence

__all__ = [
    "Fence",
    "FileFence",
    "GuardedFile",
    "MemoryFence",
    "SqliteFence",
    "Tokened",
    "check",
    "token_of",
]
