"""Blocking connections: a caller takes a free one, or makes one."""

import os
import select
import socket
import struct
from collections import deque
from collections.abc import Callable, Sequence
from time import monotonic
from weakref import WeakSet

from fencepost._runtime import fork
from fencepost._runtime import threads as runtime
from fencepost._runtime.clock import LONGEST_NAP, boottime
from fencepost.engines.redis.address import Address
from fencepost.engines.redis.resp import Parser, Reply, ReplyError, pack
from fencepost.engines.redis.trouble import explain, unreachable
from fencepost.engines.redis.waiter import Waiter
from fencepost.errors import Unavailable

MOST_IDLE = 16
TRUSTED = 1.0
CHUNK = 8192


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

    def read_all(self) -> list[Reply]:
        """Whatever has come, at least one reply."""
        first = self.read()
        rest = list(self.waiting)
        self.waiting.clear()
        return [first, *rest]

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


class Link:
    """Connections to one server, as many as callers at a time."""

    def __init__(self, address: Address, patience: float) -> None:
        self.address = address
        self.patience = patience
        self._free: list[Connection] = []
        self._closed = False

    def take(self) -> Connection:
        """A connection for one exchange. `give_back` it, or `drop` it if anything went wrong on it."""
        try:
            connection = self._free.pop()
        except IndexError:
            if self._closed:
                raise Unavailable(f"the connection to redis at {self.address} was closed here") from None
            return connect(self.address, self.patience)
        # One that was idle for long may have been closed meanwhile. To look each time would cost a system call.
        if monotonic() - connection.used_at > TRUSTED and connection.is_over():
            self.drop(connection)
            return self.take()
        return connection

    def give_back(self, connection: Connection) -> None:
        # Anything left to read is nobody's reply.
        if len(self._free) < MOST_IDLE and not self._closed and not connection.waiting:
            connection.used_at = monotonic()
            self._free.append(connection)
        else:
            connection.close()

    def drop(self, connection: Connection) -> None:
        connection.close()
        # Those that are idle are of the same age or older: whatever ended this one has ended them.
        while self._free:
            try:
                self._free.pop().close()
            except IndexError:
                break

    def call(self, command: bytes) -> Reply:
        # Every command of every lock comes along here: `take`, `read` and `give_back`, without their calls.
        try:
            connection = self._free.pop()
        except IndexError:
            connection = self.take()
        else:
            if monotonic() - connection.used_at > TRUSTED:
                self._free.append(connection)
                connection = self.take()
        try:
            connection.sendall(command)
            data = connection.recv(CHUNK)
            # One number that comes alone, as most do, is not worth a parser.
            alone = data[:1] == b":" and data.find(b"\n") == len(data) - 1
            reply = int(data[1:]) if alone else connection.read(data)
        except BaseException as error:
            self.drop(connection)
            if isinstance(error, OSError | ValueError):
                raise unreachable(error, self.address, self.patience) from error
            raise
        if self._closed or len(self._free) >= MOST_IDLE or connection.waiting:
            connection.close()
        else:
            connection.used_at = monotonic()
            self._free.append(connection)
        return reply

    def calls(self, commands: bytes, count: int) -> list[Reply]:
        connection = self.take()
        try:
            connection.sendall(commands)
            replies = [connection.read() for _ in range(count)]
        except BaseException as error:
            self.drop(connection)
            if isinstance(error, OSError | ValueError):
                raise unreachable(error, self.address, self.patience) from error
            raise
        self.give_back(connection)
        return replies

    def close(self) -> None:
        self._closed = True
        while self._free:
            self._free.pop().close()


class Ear:
    """One listening connection for all who wait: whoever comes first reads for all, and rings for the next."""

    def __init__(self, channel: str, deliver: Callable[[bytes], None]) -> None:
        self.channel = channel
        self.is_open = False
        self._deliver = deliver
        self._connection: Connection | None = None
        self._present: deque[Waiter] = deque()
        # Whoever takes the one thing in it reads: taking it is atomic.
        self._role = deque([True])
        self._opening = runtime.Mutex()
        self._generation = fork.generation()

    def open(self, address: Address, patience: float) -> None:
        """Listen from now on: what is published after this returns is heard."""
        with self._opening:
            if self.is_open:
                return
            connection = connect(address, patience)
            try:
                connection.sendall(pack("SUBSCRIBE", self.channel))
                reply = connection.read()
            except BaseException as error:
                connection.close()
                if isinstance(error, OSError | ValueError):
                    raise unreachable(error, address, patience) from error
                raise
            if isinstance(reply, ReplyError):
                connection.close()
                raise explain(reply, address)
            self._connection = connection
            self.is_open = True

    def wait(self, waiter: Waiter, until: float) -> None:
        """Return when the waiter has news, or at `until`. `Unavailable` if nothing can be heard any more."""
        self._present.append(waiter)
        try:
            while not waiter.stirred and (left := until - boottime()) > 0:
                if not self.is_open:
                    raise Unavailable("the connection on which redis tells of grants was lost")
                if self._take_role():
                    try:
                        self._read(waiter, until)
                    finally:
                        self._role.append(True)
                    continue
                waiter.bell = runtime.Event()
                if not waiter.stirred and not self._role:
                    waiter.bell.wait(min(left, LONGEST_NAP))
        finally:
            self._present.remove(waiter)
            if self._role:
                self._ring()

    def close(self) -> None:
        self.is_open = False
        connection, self._connection = self._connection, None
        if connection is not None:
            if self._generation == fork.generation():
                connection.wake()
            connection.close()

    def _take_role(self) -> bool:
        try:
            return self._role.pop()
        except IndexError:
            return False

    def _ring(self) -> None:
        try:
            self._present[0].ring()
        except IndexError:
            pass

    def _read(self, waiter: Waiter, until: float) -> None:
        connection = self._connection
        try:
            while not waiter.stirred and connection is not None and (left := until - boottime()) > 0:
                connection.patience(min(left, LONGEST_NAP))
                try:
                    replies = connection.read_all()
                except (TimeoutError, BlockingIOError):
                    continue
                for reply in replies:
                    if isinstance(reply, list) and reply[0] == b"message":
                        self._deliver(reply[2])
        except BaseException as error:
            self.close()
            for other in list(self._present):
                other.ring()
            if isinstance(error, OSError | ValueError):
                raise Unavailable("the connection on which redis tells of grants was lost") from error
            raise


def scatter(work: Sequence[tuple[Link, bytes, int]]) -> list[list[Reply]]:
    """What each link answers to its commands, all asked at once."""
    taken: list[tuple[Link, Connection]] = []
    failure: BaseException | None = None
    found: list[list[Reply]] = []
    try:
        for link, commands, _ in work:
            connection = link.take()
            taken.append((link, connection))
            connection.sendall(commands)
        for (link, connection), (_, _, count) in zip(list(taken), work, strict=True):
            found.append([connection.read() for _ in range(count)])
            taken.remove((link, connection))
            link.give_back(connection)
        return found
    except BaseException as error:
        failure = error
        if isinstance(error, OSError | ValueError):
            link = taken[0][0] if taken else work[0][0]
            raise unreachable(error, link.address, link.patience) from error
        raise
    finally:
        if failure is not None:
            for link, connection in taken:
                link.drop(connection)
