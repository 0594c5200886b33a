"""The limit: an HTTP/2 client that sends ready-made frames, one transaction and one delete, and knows nothing else."""

import socket

from benchmarks.contestant import Contestant
from fencepost.drivers.etcd import request
from fencepost.drivers.etcd.http2 import PREFACE, Method
from fencepost.drivers.etcd.protobuf import text
from fencepost.testing.etcd import client

LEASE = 4711
KEY = b"bare/%x" % LEASE
TXN = request.transaction(
    [request.created_at(KEY, 0)], [request.put(KEY, b"", LEASE)], [request.read(request.select(KEY))]
)


class BareHttp2(Contestant):
    """It has no way to wait: alone it is the limit, and it does not contend."""

    name = "bare HTTP/2"
    across_processes = False

    def __init__(self, port: int) -> None:
        speaker = client(port)
        speaker.lease_revoke(LEASE)
        speaker.lease_grant(LEASE, 600)
        speaker.close()
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.sendall(PREFACE)
        self._stream = 1
        where = f"127.0.0.1:{port}"
        self._claim = _frames(Method(request.KV_TXN, where, tls=False, extra={}), TXN)
        self._delete = _frames(Method("/etcdserverpb.KV/DeleteRange", where, tls=False, extra={}), text(1, KEY))

    def acquire(self) -> None:
        self._call(self._claim)

    def release(self) -> None:
        self._call(self._delete)

    def close(self) -> None:
        self._socket.close()

    def _call(self, frames: tuple[bytes, bytes, bytes]) -> None:
        stream = self._stream.to_bytes(4)
        self._stream += 2
        self._socket.sendall(stream.join(frames))
        inbox = b""
        while True:
            inbox += self._socket.recv(65536)
            place = 0
            while len(inbox) - place >= 9:
                size = int.from_bytes(inbox[place : place + 3])
                if len(inbox) - place - 9 < size:
                    break
                # The trailers end the answer: a frame of headers with the flag for the end of the stream.
                if inbox[place + 3] == 1 and inbox[place + 4] & 1:
                    return
                place += 9 + size
            inbox = inbox[place:]


def _frames(method: Method, body: bytes) -> tuple[bytes, bytes, bytes]:
    """A call, cut where the number of the stream goes."""
    size = len(body) + 5
    return method.start, method.block + size.to_bytes(3) + b"\x00\x01", b"\x00" + len(body).to_bytes(4) + body
