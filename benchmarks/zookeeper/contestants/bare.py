"""The limit: the fewest requests, packed once, on a socket of our own."""

import os
import socket
import struct
import threading

from benchmarks.contestant import Contestant
from fencepost.engines.zookeeper import jute

TIMEOUT_MS = 10_000
PING = b"\0\0\0\x08\xff\xff\xff\xfe\0\0\0\x0b"
_length = struct.Struct(">i")


class Bare(Contestant):
    """Create and list in one send; if somebody is before us, read its node and sleep until told that it is gone.

    No lease arithmetic, no settling of lost replies, nobody else on the connection; the token is the number in the
    created node's stat.
    """

    name = "bare requests, pipelined"
    tokens = True

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._rest = b""
        self._socket.sendall(jute.buffer(jute.connect(jute.Session(0, 0, bytes(16)), 0, TIMEOUT_MS)))
        self._frame()
        self._call(jute.create(jute.CREATE, b"/bare", b"", jute.OPEN_TO_ALL, jute.PERSISTENT))
        stem = b"/bare/%d__lock__" % os.getpid()
        create = jute.create(jute.CREATE2, stem, b"", jute.OPEN_TO_ALL, jute.EPHEMERAL_SEQUENCE)
        self._enter = jute.frame(1, create) + jute.frame(2, jute.read(jute.GET_CHILDREN, b"/bare"))
        self._node = b""
        self._token = 0
        # Its session must outlive the others' turns.
        self._idle = threading.Event()
        self._pinging = threading.Thread(target=self._ping, daemon=True)
        self._pinging.start()

    def acquire(self) -> None:
        self._socket.sendall(self._enter)
        self._node, stat = jute.created(self._reply()[16:])
        self._token = stat.created_by
        before = self._before(self._reply())
        while before:
            path = b"/bare/" + before.pop()
            if not jute.header(self._call(jute.read(jute.GET_DATA, path, watch=True)))[2]:
                while jute.event(self._reply()[16:]) != (path, True):
                    pass
            if before:
                before = self._before(self._call(jute.read(jute.GET_CHILDREN, b"/bare")))

    def _before(self, listed: bytes) -> list[bytes]:
        mine = self._node[-10:]
        line = sorted(child[-10:] + child for child in jute.strings(listed[16:]))
        return [child[10:] for child in line if child[:10] < mine]

    def release(self) -> None:
        self._call(jute.delete(self._node))

    def close(self) -> None:
        self._idle.set()
        self._call(jute.CLOSING)
        self._socket.close()

    def _ping(self) -> None:
        while not self._idle.wait(TIMEOUT_MS / 3000):
            self._socket.sendall(PING)

    def _call(self, request: bytes) -> bytes:
        self._socket.sendall(jute.frame(3, request))
        return self._reply()

    def _reply(self) -> bytes:
        """The next frame that is no answer to a ping: what was asked for, or news of what is watched."""
        while (frame := self._frame())[:4] == b"\xff\xff\xff\xfe":
            pass
        return frame

    def _frame(self) -> bytes:
        data = self._rest
        while len(data) < 4 or len(data) < 4 + _length.unpack_from(data)[0]:
            data += self._socket.recv(65536)
        end = 4 + _length.unpack_from(data)[0]
        self._rest = data[end:]
        return data[4:end]
