"""How much a server may say in one go. libpq takes in whatever comes, and keeps it all until an answer is complete."""

import socket
import sys

# Of one answer, and until a connection is let in.
LARGEST = 64 << 20
LARGEST_GREETING = 1 << 20
# Where the kernel counts the bytes that came, in what it tells of a connection (`struct tcp_info`).
_RECEIVED = slice(128, 136)
_COUNTED = sys.platform == "linux" and hasattr(socket, "TCP_INFO")


def received(fileno: int) -> int:
    """How many bytes have come on a connection; 0 where nobody counts them, as on a Unix socket or not on Linux.

    Also 0 where another thread has closed the connection meanwhile: libpq says so to its reader.
    """
    if not _COUNTED:
        return 0
    try:
        with socket.socket(fileno=socket.dup(fileno)) as twin:
            info = twin.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _RECEIVED.stop)
    except OSError:
        return 0
    return int.from_bytes(info[_RECEIVED], sys.byteorder)
