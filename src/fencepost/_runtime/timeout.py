"""How long one write of a blocking socket may take, kept by the kernel where that can be.

Not so of reads: see `wire`.
"""

import socket
import struct

# Windows has no such flag, and counts the time in other units. Sockets of gevent never block in the kernel.
BY_KERNEL = hasattr(socket, "MSG_DONTWAIT") and socket.socket.__module__ == "socket"
DONTWAIT: int = getattr(socket, "MSG_DONTWAIT", 0)


def allow_writing(source: socket.socket, seconds: float) -> None:
    """Where the kernel keeps the time, of a socket without a time-out of Python's."""
    source.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, _timeval(seconds))


def _timeval(seconds: float) -> bytes:
    # Never 0, which means for ever.
    return struct.pack("ll", int(seconds), int(seconds % 1 * 1_000_000) or 1)
