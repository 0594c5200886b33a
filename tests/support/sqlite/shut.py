"""The gate, shut by somebody else."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def shut_gate(path: Path) -> Iterator[None]:
    """Nobody enters the gate of the state file at `path` meanwhile."""
    fd = os.open(f"{path}-gate", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)
