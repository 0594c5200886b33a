"""Free ports that stay ours: no two tests on this host get the same one at the same time."""

import fcntl
import os
import random
import socket
import tempfile
from pathlib import Path

# Below the range from which systems pick ports for outgoing connections, so that none of those takes one of ours.
LOWEST, HIGHEST = 20_000, 32_000
_reserved: dict[int, int] = {}


def free_port() -> int:
    """A TCP port on 127.0.0.1 that nobody listens on.

    It is reserved, for this process and against all others that use this function, until the process ends.
    Others can still take it in the moment before the server does; the server then says so and does not come up.
    """
    folder = Path(tempfile.gettempdir()) / f"fencepost-ports-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    for port in random.SystemRandom().sample(range(LOWEST, HIGHEST), 500):
        if port not in _reserved and _reserve(port, folder):
            return port
    raise OSError(f"no free port between {LOWEST} and {HIGHEST}")


def is_listening(port: int, host: str = "127.0.0.1") -> bool:
    """Whether somebody accepts connections there."""
    try:
        with socket.create_connection((host, port), timeout=1.0):
            return True
    except OSError:
        return False


def _reserve(port: int, folder: Path) -> bool:
    descriptor = os.open(folder / str(port), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
    except OSError:
        os.close(descriptor)
        return False
    # The descriptor stays open, and with it the reservation.
    _reserved[port] = descriptor
    return True
