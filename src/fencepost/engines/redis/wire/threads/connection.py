"""One blocking connection."""

import os
import select
import socket
import struct
from collections import deque
from time import monotonic
from weakref import WeakSet

from fencepost.engines.redis.address import Address
from fencepost.engines.redis.resp import Parser, Reply, ReplyError
from fencepost.engines.redis.trouble import explain, unreachable

CHUNK = 8192
# What nearly every reply fits into. Room for more comes from the operating system rather than from Python's own store,
# which costs a third of a read.
SMALL_CHUNK = 256


class Connection:
    """One socket. Time-outs are the kernel's: Python's own would poll before every read."""

    __slots__ = ("__weakref__", "_parser", "_patience", "_tls", "recv", "sendall", "socket", "used_at", "waiting")

    def __init__(self, address: Address, patience: float) -> None:
        try:
            if address.socket is not None:
                self.socket = socket.socket(socket.AF_UNIX)
                self.socket.settimeout(patience)
                self.socket.connect(address.socket)
            else:
                self.socket = socket.create_connection((address.host, address.port), patience)
                self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._tls = address.tls is not None
            if address.tls is not None:
                self.socket = address.tls.wrap_socket(self.socket, server_hostname=address.host)
        except OSError:
            if hasattr(self, "socket"):
                self.socket.close()
            raise
        self.recv, self.sendall = self.socket.recv, self.socket.sendall
        self._parser = Parser()
        self.waiting: deque[Reply] = deque()
        self._patience = -1.0
        self.used_at = monotonic()
        self.patience(patience)
        _open.add(self)

    def patience(self, seconds: float) -> None:
        """How long one read or write may take from now on."""
        if seconds == self._patience:
            return
        self._patience = seconds
        if self._tls:
            self.socket.settimeout(seconds)
        else:
            self.socket.settimeout(None)
            allowed = struct.pack("ll", int(seconds), int(seconds % 1 * 1_000_000) or 1)
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, allowed)
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, allowed)

    def fileno(self) -> int:
        return self.socket.fileno()

    def read(self, data: bytes = b"") -> Reply:
        """The next reply; `data` is what was received already."""
        if not self.waiting:
            self._feed(data or self.recv(CHUNK))
        return self.waiting.popleft()

    def read_messages(self) -> list[bytes]:
        """What has been published since, as soon as there is something to read; it may be none."""
        data = b"" if self.waiting else self.recv(SMALL_CHUNK)
        if data and not self._parser.rest:
            # One message that comes alone, as most do, is not worth a parser: whoever waits for it has just woken up,
            # and every line that runs then is read from memory first.
            parts = data.split(b"\r\n")
            if len(parts) == 8 and parts[2] == b"message" and not parts[7]:
                return [parts[6]]
        replies = [self.read(data), *self.waiting]
        self.waiting.clear()
        return [reply[2] for reply in replies if isinstance(reply, list) and reply[0] == b"message"]

    def _feed(self, data: bytes) -> None:
        while True:
            if not data:
                raise ConnectionError("the server closed the connection")
            self.waiting.extend(self._parser.feed(data))
            if self.waiting:
                return
            data = self.recv(CHUNK)

    def is_over(self) -> bool:
        """Whether the server has closed it, or said something nobody asked for."""
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
        # Nothing is said to the server: in a forked child the connection is the parent's.
        _open.discard(self)
        self.socket.close()

    def __del__(self) -> None:
        # Whoever was interrupted on the way to closing it is told nothing: the socket is closed all the same.
        if hasattr(self, "socket"):
            self.socket.close()


_open: "WeakSet[Connection]" = WeakSet()


def _forked() -> None:
    for connection in list(_open):
        connection.close()


os.register_at_fork(after_in_child=_forked)


def connect(address: Address, patience: float) -> Connection:
    """A connection that the server has let in."""
    connection: Connection | None = None
    try:
        connection = Connection(address, patience)
        greeting = address.greeting()
        if greeting:
            connection.sendall(b"".join(greeting))
        for _ in greeting:
            reply = connection.read()
            if isinstance(reply, ReplyError):
                raise explain(reply, address)
        return connection
    except BaseException as error:
        if connection is not None:
            connection.close()
        if isinstance(error, OSError | ValueError):
            raise unreachable(error, address, patience) from error
        raise
