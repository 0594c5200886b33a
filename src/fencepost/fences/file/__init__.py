"""A fence beside a file: many processes of one host, one file, marks that survive a crash."""

from fencepost.fences.file.content import GuardedFile
from fencepost.fences.file.fence import FileFence

__all__ = ["FileFence", "GuardedFile"]
