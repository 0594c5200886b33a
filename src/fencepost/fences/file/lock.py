"""The lock beside a guarded file: one block at a time, over all processes and threads of the host."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from stat import S_IMODE

from fencepost._runtime import fork
from fencepost._runtime.platform import lacking
from fencepost.errors import Unsupported
from fencepost.fences.file.replacement import adopt

_MISSING = lacking("fcntl.flock", "os.fchown")
if not _MISSING:
    import fcntl


def check_platform() -> None:
    if _MISSING:
        raise Unsupported(
            f"a file fence does not run here, where Python has no {', '.join(_MISSING)}: keep the data in a database"
        )


@contextmanager
def locked(path: str, beside: str) -> Iterator[None]:
    """Hold the lock file at `path` during the block; the kernel frees it when the process dies.

    The file is made if need be, and is open to those who may write the file at `beside`.
    """
    born, descriptor = fork.current, _open(path)
    try:
        _open_to_writers(descriptor, beside)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        # Closing alone unlocks nothing while a child forked meanwhile has the descriptor too. And for the same reason
        # such a child, which may leave by an exception, would unlock it for its parent, who is inside.
        if fork.current == born:
            fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


def _open(path: str) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except FileNotFoundError as error:
        reason = "a file fence keeps its marks beside the file, in a folder that does not exist"
        raise FileNotFoundError(error.errno, reason, os.path.dirname(path)) from None
    except OSError as error:
        reason = "a file fence keeps its marks beside the file, and may not write there"
        raise OSError(error.errno, f"{reason} ({os.strerror(error.errno or 0).lower()})", path) from error


def _open_to_writers(descriptor: int, path: str) -> None:
    """Give the lock to each class of users that may write the file at `path`, and to no other.

    Not to its readers: whoever can open a lock can flock it, and keep every guard waiting.
    """
    if os.geteuid() not in (0, os.fstat(descriptor).st_uid):
        return
    try:
        file = os.stat(path)
    except FileNotFoundError:
        return
    write = S_IMODE(file.st_mode) & 0o222
    adopt(descriptor, file, 0o600 | write | write << 1)
