"""A connected socket that blocks its one caller at a time, and no longer than it is told to."""

import math
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

    __slots__ = ("__weakref__", "_patience", "allowed", "is_hurried", "socket", "until", "used_at")

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
        self.until = monotonic() + seconds
        # For messages: how long it had.
        self.allowed = seconds
        self.is_hurried = seconds < patience
        # To tell the kernel takes as long as a tenth of a call: about the same will do, and sending seldom waits.
        if not seconds * 0.9 <= self._patience <= seconds * 1.02:
            if self._patience < 0 or isinstance(self.socket, ssl.SSLSocket):
                self.patience(seconds)
            else:
                self._patience = seconds
                self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _timeval(seconds))

    def go_on(self) -> None:
        """Between two reads of an exchange: all of it together has the time that `begin` gave.

        A server that says a little now and then, or never stops, is left then.
        """
        left = self.until - monotonic()
        if left <= 0:
            raise TimeoutError
        if left < self._patience * 0.9:
            self._patience = left
            if isinstance(self.socket, ssl.SSLSocket):
                self.socket.settimeout(left)
            else:
                self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _timeval(left))

    def send(self, data: bytes, seconds: float | None = None) -> None:
        """All of it, in the time of the exchange or in so many seconds, also if the other side takes it bit by bit."""
        encrypted = isinstance(self.socket, ssl.SSLSocket)
        flags = 0 if encrypted else socket.MSG_DONTWAIT
        try:
            sent = self.socket.send(data, flags)
        except BlockingIOError:
            sent = 0
        if sent == len(data):
            return
        until = self.until if seconds is None else monotonic() + seconds
        rest = memoryview(data)
        poll = select.poll()
        poll.register(self.socket, select.POLLOUT)
        while rest := rest[sent:]:
            left = until - monotonic()
            if left <= 0 or not poll.poll(math.ceil(left * 1000)):
                raise TimeoutError
            try:
                sent = self.socket.send(rest, flags)
            except BlockingIOError:
                sent = 0

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
    """Connected by TCP, with TLS if asked for. All addresses of the host share the time."""
    until = monotonic() + threads.patience(patience)
    made = _connect(host, port, until)
    try:
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # A handshake ends when its time is over, whatever comes.
        made.settimeout(max(0.001, until - monotonic()))
        return made if tls is None else tls.wrap_socket(made, server_hostname=host)
    except BaseException:
        made.close()
        raise


def _connect(host: str, port: int, until: float) -> socket.socket:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    for left in range(len(found), 0, -1):
        family, kind, protocol, _, address = found[-left]
        made = socket.socket(family, kind, protocol)
        try:
            made.settimeout(max(0.001, (until - monotonic()) / left))
            made.connect(address)
            return made
        except BaseException as error:
            made.close()
            if left == 1 or not isinstance(error, OSError):
                raise
    raise OSError(f"'{host}' has no address")


_open: "WeakSet[Wire]" = WeakSet()


def _forked() -> None:
    for wire in list(_open):
        wire.close()


os.register_at_fork(after_in_child=_forked)
