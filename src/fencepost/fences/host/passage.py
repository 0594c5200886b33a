"""One at a time for each name, over all processes, threads and tasks of the host."""

import os
import struct
import sys
from hashlib import sha256

from fencepost._runtime import fork
from fencepost._runtime.platform import lacking
from fencepost.errors import Unsupported

_MISSING = lacking("fcntl.F_OFD_SETLK")
if not _MISSING:
    import fcntl

# struct flock, as Linux has it: type, whence, start, length, pid.
_LAYOUT = "hhqqi4x"


def check_platform() -> None:
    if _MISSING or sys.platform != "linux":
        raise Unsupported("a host fence needs Linux's locks of open files: keep the marks in a database, by a SqlFence")


class Passage:
    """A byte of a lock file for each name; the kernel frees it when the process dies.

    Locks of open file descriptions, not of the process: two threads or tasks exclude each other, too.
    """

    def __init__(self, path: str, name: str) -> None:
        self._byte = int.from_bytes(sha256(name.encode()).digest()[:7])
        self._born = fork.current
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def try_enter(self) -> bool:
        try:
            self._lock(fcntl.F_WRLCK)
        except BlockingIOError:
            return False
        return True

    def leave(self) -> None:
        try:
            # Closing alone unlocks nothing while a child forked meanwhile has the descriptor too. And for the same
            # reason such a child, which may leave by an exception, would unlock it for its parent, who is inside.
            if fork.current == self._born:
                self._lock(fcntl.F_UNLCK)
        finally:
            os.close(self._descriptor)

    def _lock(self, kind: int) -> None:
        fcntl.fcntl(self._descriptor, fcntl.F_OFD_SETLK, struct.pack(_LAYOUT, kind, os.SEEK_SET, self._byte, 1, 0))
