"""One blocking connection."""

import math
import socket
from collections import deque

from fencepost._runtime import threads
from fencepost._runtime.clock import boottime
from fencepost._runtime.readiness import READ, poll
from fencepost._runtime.wire import Wire, dial
from fencepost.engines.redis.address import Address
from fencepost.engines.redis.resp import MESSAGE, Parser, Reply, ReplyError, message_of
from fencepost.engines.redis.trouble import explain, unreachable

CHUNK = 8192
# What nearly every reply fits into. Room for more comes from the operating system rather than from Python's own store,
# which costs a third of a read.
SMALL_CHUNK = 256
# What a socket takes at once on which nothing is on its way. More than that is sent with a time of its own.
FITS = 8192


class Connection(Wire):
    """To one server."""

    __slots__ = ("_parser", "recv", "sendall", "unread", "waiting")

    def __init__(self, address: Address, patience: float) -> None:
        super().__init__(_dial(address, patience), patience)
        self.recv, self.sendall = self.receive, self.socket.sendall
        self._parser = Parser()
        self.waiting: deque[Reply] = deque()
        # Asked before each command, so made once: `unread(0)` is empty unless something came that nobody asked for,
        # a reply too many or the end. Whatever is sent then would be answered by it.
        waiting = poll()
        waiting.register(self.socket, READ)
        self.unread = waiting.poll

    @property
    def is_clean(self) -> bool:
        """Whether nothing came that nobody asked for: neither a reply too many, nor the beginning of one."""
        return not self.waiting and not self._parser.is_midway

    def fileno(self) -> int:
        return self.socket.fileno()

    def read(self, data: bytes = b"", until: float = math.inf) -> Reply:
        """The next reply, whole by `until`; `data` is what was received of it already."""
        if not self.waiting:
            self._feed(data or self.recv(CHUNK), until)
        return self.waiting.popleft()

    def read_all(self, count: int, until: float) -> list[Reply]:
        """So many replies, all of them by `until`."""
        found = []
        for _ in range(count):
            if not self.waiting:
                # What has come already is taken, however late we are.
                self.hurry(until - boottime())
                self._feed(self.recv(CHUNK), until)
            found.append(self.waiting.popleft())
        return found

    def read_messages(self) -> list[bytes]:
        """What has been published since, as soon as there is something to read; it may be none."""
        if not self.waiting:
            data = self.recv(SMALL_CHUNK)
            if data and not self._parser.is_midway:
                # One message that comes alone, as most do, is not worth a parser: whoever waits for it has just woken
                # up, and every line that runs then is read from memory first.
                parts = data.split(b"\r\n")
                if len(parts) == 8 and data.startswith(MESSAGE) and not parts[7]:
                    channel, text = parts[4], parts[6]
                    if parts[3] == b"$%d" % len(channel) and parts[5] == b"$%d" % len(text):
                        return [text]
            self._take_in(data)
        replies = list(self.waiting)
        self.waiting.clear()
        return [message for message in map(message_of, replies) if message is not None]

    def _feed(self, data: bytes, until: float) -> None:
        """Until there is a reply: all of its pieces by then."""
        self._take_in(data)
        if self.waiting:
            return
        until = min(until, boottime() + threads.time_left())
        while not self.waiting:
            left = until - boottime()
            if left <= 0:
                raise TimeoutError
            if left < math.inf:
                self.hurry(left)
            self._take_in(self.recv(CHUNK))

    def _take_in(self, data: bytes) -> None:
        if not data:
            raise ConnectionError("the server closed the connection")
        self.waiting.extend(self._parser.feed(data))

    def hurry(self, left: float) -> None:
        """What is left of the time that connecting and asking have together."""
        self.begin(max(0.001, left))
        # For whoever comes next.
        self.is_hurried = True


def _dial(address: Address, patience: float) -> socket.socket:
    if address.socket is None:
        return dial(address.host, address.port, patience, address.tls)
    made = socket.socket(socket.AF_UNIX)
    try:
        made.settimeout(threads.patience(patience))
        made.connect(address.socket)
        return made
    except BaseException:
        made.close()
        raise


def connect(address: Address, patience: float) -> Connection:
    """A connection that the server has let in."""
    connection: Connection | None = None
    began_at = boottime()
    try:
        connection = Connection(address, patience)
        greeting = address.greeting()
        if greeting:
            connection.sendall(b"".join(greeting))
        for reply in connection.read_all(len(greeting), began_at + patience):
            if isinstance(reply, ReplyError):
                raise explain(reply, address)
        return connection
    except BaseException as error:
        if connection is not None:
            connection.close()
        if isinstance(error, OSError | ValueError):
            raise unreachable(error, address, min(patience, boottime() - began_at)) from error
        raise
