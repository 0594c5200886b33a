"""Blocking connections: a caller takes a free one, or makes one."""

import ssl
import threading
from collections.abc import Callable, Sequence
from time import monotonic

from fencepost._runtime import fork
from fencepost._runtime import threads as runtime
from fencepost._runtime.clock import LONGEST_NAP, boottime
from fencepost._runtime.patience import is_proof
from fencepost._runtime.state import StateLock
from fencepost._runtime.watch import Watch
from fencepost._runtime.wire import Wire, dial
from fencepost.drivers.etcd import answer, request
from fencepost.drivers.etcd.endpoint import Address, Endpoints
from fencepost.drivers.etcd.http2 import PREFACE, Conversation, Method, Stream
from fencepost.drivers.etcd.trouble import RpcError, explain, result, unreachable
from fencepost.drivers.etcd.waiter import Waiter
from fencepost.errors import Unavailable

MOST_IDLE = 16
TRUSTED = 1.0
# What a server says on a connection that is idle, such as pings, fits into so many reads.
MOST_SAID = 16
CHUNK = 65_536
# How long whoever listens stays for a server that does not read what it has asked for, in seconds.
REPLY = 1.0
Call = tuple[str, bytes]


class Connection(Wire):
    """For one caller at a time."""

    __slots__ = ("_endpoints", "_methods", "_talk", "address")

    def __init__(self, endpoints: Endpoints, address: Address, patience: float) -> None:
        self.address = address
        self._endpoints = endpoints
        self._methods: dict[str, Method] = {}
        self._talk = Conversation()
        until = monotonic() + patience
        made = dial(address.host, address.port, patience, endpoints.tls)
        super().__init__(made, max(0.001, until - monotonic()))
        try:
            self.send(PREFACE)
            while not self._talk.greeted:
                self.read()
                self.go_on()
        except BaseException:
            self.close()
            raise

    @property
    def is_usable(self) -> bool:
        return not self._talk.leaving and not self._talk.streams

    def start(self, path: str, body: bytes, *, last: bool = True) -> Stream:
        method = self._methods.get(path)
        if method is None:
            method = self._methods[path] = self._endpoints.method(path, self.address)
        stream, data = self._talk.call(method, body, last=last)
        self.send(data)
        return stream

    def say(self, stream: Stream, body: bytes) -> None:
        data = self._talk.send(stream, body)
        if data:
            self.send(data)

    def forget_token(self) -> None:
        self._methods.clear()

    def read(self) -> None:
        """Whatever comes next, taken in."""
        self.take_in(self.receive(CHUNK))

    def receive_within(self, seconds: float, talking: "threading.Lock") -> bytes:
        """What comes within that time, while others may be sending; else TimeoutError or BlockingIOError."""
        if not isinstance(self.socket, ssl.SSLSocket):
            self.patience(seconds)
            return self.receive(CHUNK)
        # OpenSSL must not read and write one connection at the same time.
        if not self.socket.pending() and not runtime.readable(self.socket.fileno(), seconds):
            raise TimeoutError
        with talking:
            return self.socket.recv(CHUNK)

    def take_in(self, data: bytes) -> None:
        if not data:
            raise ConnectionError("the server closed the connection")
        _, reply = self._talk.feed(data)
        if reply:
            self.send(reply)

    def call(self, path: str, body: bytes) -> bytes:
        stream = self.start(path, body, last=path not in request.KEPT_OPEN)
        self.read()
        while (found := self._answer(path, stream)) is None:
            self.go_on()
            self.read()
        return found

    def calls(self, work: Sequence[Call]) -> "list[bytes | RpcError]":
        """What each is answered, all asked at once."""
        streams = [self.start(path, body, last=path not in request.KEPT_OPEN) for path, body in work]
        found: dict[int, bytes | RpcError] = {}
        self.read()
        while True:
            for place, ((path, _), stream) in enumerate(zip(work, streams, strict=True)):
                try:
                    answered: bytes | RpcError | None = None if place in found else self._answer(path, stream)
                except RpcError as error:
                    answered = error
                if answered is not None:
                    found[place] = answered
            if len(found) == len(work):
                return [found[place] for place in range(len(work))]
            self.go_on()
            self.read()

    def _answer(self, path: str, stream: Stream) -> bytes | None:
        if stream.done:
            return result(stream)
        if path in request.KEPT_OPEN and (messages := stream.messages()):
            self.send(self._talk.cancel(stream))
            return messages[0]
        return None

    def look(self) -> None:
        """Take in what the server has said meanwhile; raises if it has closed the connection, or does not stop."""
        for _ in range(MOST_SAID):
            if not self.is_readable():
                break
            self.read()
        else:
            raise ConnectionError("the server says more than it was asked for")
        if not self.is_usable:
            raise ConnectionError("the server takes no more calls on this connection")


class Link:
    """Connections to one cluster, as many as callers at a time."""

    def __init__(self, endpoints: Endpoints, patience: float) -> None:
        self.endpoints = endpoints
        self.patience = patience
        self._free: list[Connection] = []
        self._closed = False

    def connect(self) -> Connection:
        """A connection that a member has let in: the current one, or whichever of the others comes first."""
        if self._closed:
            raise Unavailable(f"the connection to etcd at {self.endpoints} was closed here")
        endpoints, allowed = self.endpoints, runtime.patience(self.patience)
        until, left = monotonic() + allowed, len(endpoints)
        for address in endpoints.in_turn():
            share = max(0.001, (until - monotonic()) / left)
            left -= 1
            try:
                return self._enter(Connection(endpoints, address, share), share)
            except (OSError, ValueError) as error:
                # A caller without time is no proof against a member that others use.
                if is_proof(allowed, self.patience) or not isinstance(error, TimeoutError | BlockingIOError):
                    endpoints.leave(address)
                if not left:
                    raise unreachable(error, address, share) from error
        raise AssertionError("there is always one")

    def _enter(self, connection: Connection, patience: float) -> Connection:
        try:
            connection.begin(patience)
            if self.endpoints.credentials is not None and self.endpoints.token is None:
                body = request.authenticate(*self.endpoints.credentials)
                self.endpoints.token = answer.token(connection.call(request.AUTHENTICATE, body))
                # What was encoded so far says nothing of the token.
                connection.forget_token()
            return connection
        except BaseException as error:
            connection.close()
            if isinstance(error, RpcError):
                error.where = connection.address
                raise explain(error) from error
            raise

    def take(self) -> Connection:
        """A connection for one exchange. `give_back` it, or `drop` it if anything went wrong on it."""
        while True:
            try:
                connection = self._free.pop()
            except IndexError:
                return self.connect()
            if connection.socket.fileno() < 0:
                # In the child of a fork all are closed.
                continue
            # One that was idle for long may have been closed meanwhile. To look each time would cost a system call.
            if monotonic() - connection.used_at <= TRUSTED:
                return connection
            try:
                connection.look()
                return connection
            except (OSError, ValueError):
                connection.close()

    def give_back(self, connection: Connection) -> None:
        if len(self._free) < MOST_IDLE and not self._closed and connection.is_usable:
            connection.used_at = monotonic()
            self._free.append(connection)
        else:
            connection.close()

    def drop(self, connection: Connection) -> None:
        """Something went wrong there: the next call goes to the next member."""
        self.endpoints.leave(connection.address)
        connection.close()
        self.clear()

    def distrust(self) -> None:
        """Whoever answered said what makes no sense: ask the next member."""
        self.endpoints.leave(self.endpoints.current)
        self.clear()

    def clear(self) -> None:
        """Let go of the connections that are idle."""
        while self._free:
            try:
                self._free.pop().close()
            except IndexError:
                break

    def call(self, path: str, body: bytes) -> bytes:
        connection = self.take()
        try:
            connection.begin(self.patience)
            answered = connection.call(path, body)
        except BaseException as error:
            self._failed(connection, error)
            raise
        self.give_back(connection)
        return answered

    def calls(self, work: Sequence[Call]) -> "list[bytes | RpcError]":
        """What each is answered, all asked at once."""
        connection = self.take()
        try:
            connection.begin(self.patience)
            found = connection.calls(work)
        except BaseException as error:
            self._failed(connection, error)
            raise
        self.give_back(connection)
        return found

    def _failed(self, connection: Connection, error: BaseException) -> None:
        if isinstance(error, RpcError):
            error.where = connection.address
        if isinstance(error, RpcError) and not error.elsewhere:
            self.give_back(connection)
            return
        late = isinstance(error, TimeoutError | BlockingIOError)
        if isinstance(error, OSError | ValueError | RpcError) and (
            not late or is_proof(connection.allowed, self.patience)
        ):
            self.drop(connection)
        else:
            # A caller that is interrupted, or without time, is no proof against a member that others use.
            connection.close()
        if isinstance(error, OSError | ValueError):
            raise unreachable(error, connection.address, connection.allowed) from error

    def close(self) -> None:
        self._closed = True
        self.clear()


class Ear:
    """One watch stream for all who wait: whoever comes first reads for all, and rings for the next."""

    def __init__(self, hear: Callable[[bytes], None], ended: Callable[[], None]) -> None:
        self._hear = hear
        self._ended = ended
        self._connection: Connection | None = None
        self._stream: Stream | None = None
        self._watch = Watch()
        self._opening = runtime.Turn(Unavailable)
        # The conversation is one: what is read and what is said must not get into it at the same time.
        self._talking = StateLock()
        self._generation = fork.generation()
        # How many watches were asked for on the stream.
        self._watches = 0

    @property
    def is_open(self) -> bool:
        return self._stream is not None

    def is_elsewhere(self, address: Address) -> bool:
        """Whether it listens at another member than this one."""
        connection = self._connection
        return connection is not None and connection.address != address

    def watch(self, words: Callable[[int], bytes], link: Link) -> None:
        """Ask for a watch, in the words for the number that it has on the stream: see `request.watch`."""
        self._say(lambda: words(self._count()), link)

    def say(self, message: bytes, link: Link) -> None:
        """Send on the stream, which is opened if there is none."""
        self._say(lambda: message, link)

    def _count(self) -> int:
        self._watches += 1
        return self._watches - 1

    def _say(self, words: Callable[[], bytes], link: Link) -> None:
        with self._opening:
            connection, stream = self._connection, self._stream
            if connection is None or stream is None:
                connection, stream = link.connect(), None
                self._watches = 0
            allowed = runtime.patience(link.patience)
            try:
                message = words()
                with self._talking:
                    connection.until = monotonic() + allowed
                    if stream is None:
                        stream = connection.start(request.WATCH, message, last=False)
                    else:
                        connection.say(stream, message)
            except BaseException as error:
                self._connection = connection
                self.close()
                if isinstance(error, OSError | ValueError):
                    raise unreachable(error, connection.address, allowed) from error
                raise
            self._connection, self._stream = connection, stream

    def wait(self, waiter: Waiter, until: float) -> None:
        """Return when the waiter is stirred, or at `until`. `Unavailable` if nothing can be heard any more."""
        self._watch.present[waiter] = None
        try:
            while not waiter.stirred and (left := until - boottime()) > 0:
                if not self.is_open:
                    raise Unavailable("the stream on which etcd tells of changes was lost")
                if self._watch.take(waiter):
                    try:
                        self._read(waiter, until)
                    finally:
                        self._watch.hand_back()
                    continue
                waiter.bell = runtime.Event()
                if not waiter.stirred and not self._watch.is_vacant:
                    waiter.bell.wait(min(left, LONGEST_NAP))
        finally:
            self._watch.present.pop(waiter, None)
            self._watch.ring_next()

    def close(self) -> None:
        """Hear no more. Whoever waits is told."""
        connection, self._connection, self._stream = self._connection, None, None
        if connection is None:
            return
        if self._generation == fork.generation():
            connection.wake()
        connection.close()
        self._ended()
        self._watch.ring_all()

    def _read(self, waiter: Waiter, until: float) -> None:
        try:
            while not waiter.stirred and (left := until - boottime()) > 0:
                connection, stream = self._connection, self._stream
                if connection is None or stream is None:
                    return
                try:
                    data = connection.receive_within(min(left, LONGEST_NAP), self._talking)
                except (TimeoutError, BlockingIOError):
                    continue
                with self._talking:
                    connection.until = monotonic() + REPLY
                    connection.take_in(data)
                    messages = stream.messages()
                for message in messages:
                    self._hear(message)
                if stream.done:
                    raise ConnectionError("the server ended the stream")
        except BaseException as error:
            self.close()
            if isinstance(error, OSError | ValueError):
                raise Unavailable("the stream on which etcd tells of changes was lost") from error
            raise
