"""A ZooKeeper server that lets everybody in, and then talks nonsense."""

import socket
import struct
import threading
from collections.abc import Callable, Iterator

from fencepost.engines.zookeeper.jute import buffer
from tests.support.hostile import Speech

STAT = struct.pack(">qqqqiiiqiiq", *range(1, 12))
EVENT = buffer(struct.pack(">iqi", -1, 0, 0) + struct.pack(">ii", 3, 3) + buffer(b"/a"))
# Bodies of replies: lists of lengths that can not be, and of what is no text; paths and data that are cut off.
BODIES = [b"", b"\0\0\0\0", b"\0\0\0\1", struct.pack(">i", -4), struct.pack(">ii", 2**31 - 1, -4)]
BODIES += [struct.pack(">i", 1) + buffer(b"\xff__lock__0000000001"), struct.pack(">i", 2) + buffer(b"") * 2]
BODIES += [buffer(b"/x") + STAT, buffer(b"\xff") + STAT, struct.pack(">i", 2**31 - 1), STAT, buffer(b"{") + STAT]
BODIES += [struct.pack(">i", 1) + buffer(b"ab-%b-x-__lock__0000000001" % (b"9" * 5000))]
EVENTS = [b"", b"\0\0\0\1", struct.pack(">iii", 3, 3, 100), struct.pack(">ii", 2, 3) + buffer(b"\xff")]
ERRORS = [-1, -4, -7, -101, -102, -110, -112, -118, 1, 2**31 - 1]


def frames(call: socket.socket) -> Iterator[bytes]:
    """What a client says, until it has gone."""
    said = call.makefile("rb")
    while len(head := said.read(4)) == 4 and len(frame := said.read(size := struct.unpack(">i", head)[0])) == size:
        yield frame
    raise ConnectionError


def greeting(hello: bytes) -> bytes:
    """A session as long as the client wants it."""
    timeout = struct.unpack_from(">i", hello, 12)[0]
    return buffer(struct.pack(">iiq", 0, timeout, 5) + buffer(bytes(16)) + b"\0")


def babbling(reply: Callable[[int], bytes]) -> Speech:
    """To a request of any number, that is what it says."""

    def speak(call: socket.socket, over: threading.Event) -> None:
        said = frames(call)
        call.sendall(greeting(next(said)))
        for request in said:
            call.sendall(reply(struct.unpack_from(">i", request)[0]))

    return speak


def keeping(start: bytes, more: bytes, every: float) -> Speech:
    """Let in and told anything, it begins to answer, and goes on for ever."""

    def speak(call: socket.socket, over: threading.Event) -> None:
        said = frames(call)
        call.sendall(greeting(next(said)))
        next(said)
        call.sendall(start)
        while not over.wait(every):
            call.sendall(more)

    return speak


def bodied(body: bytes, error: int = 0) -> Speech:
    return babbling(lambda xid: buffer(struct.pack(">iqi", xid, 1, error) + body))
