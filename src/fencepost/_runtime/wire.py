"""A connected socket that blocks its one caller at a time, and no longer than it is told to."""

import os
import select
import socket
import ssl
import struct
from time import monotonic
from weakref import WeakSet

from fencepost._runtime import threads


class Wire:
    """Time-outs are the kernel's: Python's own would poll before every read. TLS has no other than Python's."""

    __slots__ = ("__weakref__", "_patience", "is_hurried", "socket", "used_at")

    def __init__(self, connected: socket.socket, patience: float) -> None:
        self.socket = connected
        self._patience = -1.0
        self.used_at = monotonic()
        self.begin(patience)
        _open.add(self)

    def patience(self, seconds: float) -> None:
        """How long one read or write may take from now on."""
        if seconds == self._patience:
            return
        self._patience = seconds
        if isinstance(self.socket, ssl.SSLSocket):
            self.socket.settimeout(seconds)
        else:
            self.socket.settimeout(None)
            allowed = _timeval(seconds)
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, allowed)
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, allowed)

    def begin(self, patience: float) -> None:
        """Before an exchange that may take so long: no read or write of it takes longer than its caller has time."""
        seconds = threads.patience(patience)
        self.is_hurried = seconds < patience
        # To tell the kernel takes as long as a tenth of a call: about the same will do, and sending seldom waits.
        if not seconds * 0.9 <= self._patience <= seconds * 1.02:
            if self._patience < 0 or isinstance(self.socket, ssl.SSLSocket):
                self.patience(seconds)
            else:
                self._patience = seconds
                self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _timeval(seconds))

    def is_readable(self) -> bool:
        """Whether something was said that nobody has read, or the other side has closed it."""
        poll = select.poll()
        poll.register(self.socket, select.POLLIN)
        return bool(poll.poll(0))

    def wake(self) -> None:
        """End a read that another thread is in."""
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def close(self) -> None:
        # Nothing is said to the other side: in a forked child the connection is the parent's.
        _open.discard(self)
        self.socket.close()

    def __del__(self) -> None:
        # Whoever was interrupted on the way to closing it is told nothing: the socket is closed all the same.
        if hasattr(self, "socket"):
            self.socket.close()


def _timeval(seconds: float) -> bytes:
    return struct.pack("ll", int(seconds), int(seconds % 1 * 1_000_000) or 1)


def dial(host: str, port: int, patience: float, tls: ssl.SSLContext | None) -> socket.socket:
    """Connected by TCP, with TLS if asked for."""
    made = socket.create_connection((host, port), threads.patience(patience))
    try:
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return made if tls is None else tls.wrap_socket(made, server_hostname=host)
    except BaseException:
        made.close()
        raise


_open: "WeakSet[Wire]" = WeakSet()


def _forked() -> None:
    for wire in list(_open):
        wire.close()


os.register_at_fork(after_in_child=_forked)
