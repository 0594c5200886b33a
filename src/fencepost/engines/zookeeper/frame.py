"""What comes in on a connection, cut into frames and sorted by what it is."""

import struct
from collections import deque
from collections.abc import Callable
from typing import Protocol

from fencepost.engines.zookeeper import jute
from fencepost.engines.zookeeper.jute import Reply

_length = struct.Struct(">i")
EVENT = -1
# Called with the path of a node, and whether it is gone.
OnEvent = Callable[[bytes, bool], None]
# The longest frame that is read, in bytes. ZooKeeper's own clients stop at 1 or 4 MiB, if they are told to.
LONGEST = 64 * 1024 * 1024


class Slot(Protocol):
    """Where the replies to requests that were sent together are collected."""

    def add(self, reply: Reply) -> None: ...


class Intake:
    """Replies come in the order of the requests; events come in between. Anything else is an error."""

    __slots__ = ("_rest", "_wanted", "last_zxid", "on_event", "on_greeting", "pending")

    def __init__(self, on_event: OnEvent) -> None:
        self.pending: deque[tuple[int, Slot]] = deque()
        self.last_zxid = 0
        self.on_event = on_event
        # The first frame is the answer to the connect request, and has no header.
        self.on_greeting: Callable[[bytes], None] | None = None
        # The beginning of a frame, and how long it must be before there is one.
        self._rest = bytearray()
        self._wanted = 0

    def feed(self, data: bytes) -> None:
        rest = self._rest
        if rest:
            # Not copied for each piece that comes.
            rest += data
            if len(rest) < self._wanted:
                return
            data = bytes(rest)
            rest.clear()
        at, end = 0, len(data)
        while end - at >= 4:
            (length,) = _length.unpack_from(data, at)
            if not 0 <= length <= LONGEST:
                raise jute.Malformed
            if end - at - 4 < length:
                self._wanted = 4 + length
                break
            self._take(data[at + 4 : at + 4 + length])
            at += 4 + length
        else:
            self._wanted = 4
        rest += data[at:]

    def _take(self, data: bytes) -> None:
        if self.on_greeting is not None:
            greeted, self.on_greeting = self.on_greeting, None
            greeted(data)
            return
        xid, zxid, error = jute.header(data)
        if xid == EVENT:
            self.on_event(*jute.event(data[jute.HEADER :]))
            return
        if not self.pending or self.pending[0][0] != xid:
            raise ValueError("an answer came that nobody asked for")
        if zxid > self.last_zxid:
            self.last_zxid = zxid
        self.pending[0][1].add(Reply(error, data[jute.HEADER :]))
        # Not before: a signal handler may raise, and whoever is still there is told of the end that follows.
        self.pending.popleft()
