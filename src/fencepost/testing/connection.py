"""Ending connections from underneath, as a server that restarts or a firewall that forgets does. Linux only."""

import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple


class Connection(NamedTuple):
    """A connected stream of this process: descriptors are used again, the number of the socket is not."""

    descriptor: int
    inode: int


def connections() -> frozenset[Connection]:
    found = set()
    for name in os.listdir("/proc/self/fd"):
        with _socket(int(name)) as stream:
            # What has no name at the other end is a pair inside of this process, such as an event loop's own.
            if stream is not None and stream.type == socket.SOCK_STREAM and _peer(stream):
                found.add(Connection(int(name), os.fstat(stream.fileno()).st_ino))
    return frozenset(found)


def cut(wanted: frozenset[Connection]) -> int:
    """End those of them that are still there, in both directions and without a word. How many there were."""
    count = 0
    for descriptor, inode in wanted:
        with _socket(descriptor) as stream:
            if stream is not None and os.fstat(stream.fileno()).st_ino == inode and _peer(stream):
                stream.shutdown(socket.SHUT_RDWR)
                count += 1
    return count


@contextmanager
def _socket(descriptor: int) -> Iterator[socket.socket | None]:
    """The socket behind a descriptor, through one of our own that nobody else can close; None if there is none."""
    try:
        copy = os.dup(descriptor)
    except OSError:
        copy = None
    if copy is None:
        yield None
    elif stat.S_ISSOCK(os.fstat(copy).st_mode):
        with socket.socket(fileno=copy) as stream:
            yield stream
    else:
        os.close(copy)
        yield None


def _peer(stream: socket.socket) -> object:
    try:
        return stream.getpeername()
    except OSError:
        return None
