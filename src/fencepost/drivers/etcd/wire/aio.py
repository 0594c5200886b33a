"""Asynchronous connections: one for all callers, whose calls run side by side on it."""

import asyncio
import math
from collections.abc import Callable, Sequence
from typing import Any, cast

from fencepost._runtime import aio as runtime
from fencepost._runtime.clock import boottime
from fencepost._runtime.lobby import Lobby
from fencepost._runtime.patience import is_proof
from fencepost._runtime.protocol import INTERRUPTED, Protocol, dial, ended_by
from fencepost.core.malformed import Malformed
from fencepost.drivers.etcd import answer, request
from fencepost.drivers.etcd.endpoint import Address, Endpoints
from fencepost.drivers.etcd.http2 import PREFACE, Conversation, Method, Stream
from fencepost.drivers.etcd.trouble import RpcError, explain, result, unreachable
from fencepost.drivers.etcd.waiter import Waiter
from fencepost.errors import Unavailable

# What may wait to be sent when the server asks for more replies still, as with pings: in bytes.
MOST_UNSENT = 8 << 20
Call = tuple[str, bytes]


class Connection(Protocol):
    """One socket. A call whose caller is gone is kept until it is answered, or late."""

    def __init__(self, endpoints: Endpoints, address: Address, patience: float) -> None:
        super().__init__()
        self.address = address
        # Told of every change to a stream that is not simply a call.
        self.on_stream: Callable[[Stream], None] | None = None
        self.on_end: Callable[[], None] | None = None
        self._loop = asyncio.get_running_loop()
        self._endpoints = endpoints
        self._patience = patience
        self._methods: dict[str, Method] = {}
        self._talk = Conversation()
        self._greeted: asyncio.Future[None] = self._loop.create_future()
        self._pending: dict[Stream, tuple[asyncio.Future[bytes], float]] = {}
        self._heard_at = self._loop.time()
        self._kept_open: set[Stream] = set()
        self._outbox: list[bytes] = []
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_usable(self) -> bool:
        return self.error is None and not self._talk.leaving

    @property
    def silence(self) -> float:
        """For how long the server has said nothing, though it was asked; in seconds."""
        asked_at = (at for _, at in self._pending.values())
        return self._loop.time() - max(self._heard_at, next(asked_at, math.inf))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Not asserted: the transports of other event loops, uvloop's among them, share the methods and not the class.
        self._transport = cast(asyncio.Transport, transport)
        if self.error is not None:
            # The caller gave up while we were connecting.
            self._transport.abort()
        else:
            self._transport.write(PREFACE)

    async def greeted(self) -> None:
        await self._greeted

    def call(self, path: str, body: bytes) -> "asyncio.Future[bytes]":
        future: asyncio.Future[bytes] = self._loop.create_future()
        try:
            stream = self.start(path, body, last=path not in request.KEPT_OPEN)
        except ConnectionError as error:
            future.set_exception(error)
            return future
        try:
            self._pending[stream] = (future, self._loop.time())
            if path in request.KEPT_OPEN:
                self._kept_open.add(stream)
            if self._timer is None:
                self._timer = self._loop.call_later(self._patience, self._check)
        except BaseException:
            self.end(ConnectionError(INTERRUPTED))
            raise
        return future

    def start(self, path: str, body: bytes, *, last: bool = True) -> Stream:
        method = self._methods.get(path)
        if method is None:
            method = self._methods[path] = self._endpoints.method(path, self.address)
        if self.error is not None:
            raise ConnectionError(str(self.error) or "the connection was lost") from self.error
        try:
            stream, data = self._talk.call(method, body, last=last)
            self._write(data)
        except BaseException:
            # The server would not understand what comes next.
            self.end(ConnectionError(INTERRUPTED))
            raise
        return stream

    def say(self, stream: Stream, body: bytes) -> None:
        try:
            self._write(self._talk.send(stream, body))
        except BaseException:
            self.end(ConnectionError(INTERRUPTED))
            raise

    def forget_token(self) -> None:
        self._methods.clear()

    def _write(self, data: bytes) -> None:
        """Write now if nothing is on its way; else together with what others write in this turn of the loop."""
        if self._transport is None or self.error is not None:
            return
        if not self._pending:
            self._transport.write(data)
        else:
            if not self._outbox:
                self._loop.call_soon(self._flush)
            self._outbox.append(data)

    def _flush(self) -> None:
        try:
            if self._outbox and self._transport is not None:
                self._transport.write(b"".join(self._outbox))
            self._outbox.clear()
        except BaseException:
            self.end(ConnectionError(INTERRUPTED))
            raise

    def data_received(self, data: bytes) -> None:
        self._heard_at = self._loop.time()
        try:
            streams, reply = self._talk.feed(data)
            if reply and self._transport is not None:
                if self._transport.get_write_buffer_size() > MOST_UNSENT:
                    raise Malformed("the server does not read what it asks for")
                self._flush()
                self._transport.write(reply)
            if self._talk.greeted and not self._greeted.done():
                self._greeted.set_result(None)
            for stream in streams:
                self._stir(stream)
        except ValueError as error:
            self.end(error)

    def _stir(self, stream: Stream) -> None:
        pending = self._pending.get(stream)
        if pending is None:
            if self.on_stream is not None:
                self.on_stream(stream)
        elif stream.done:
            future = pending[0]
            if not future.done():
                try:
                    future.set_result(result(stream))
                except RpcError as error:
                    future.set_exception(error)
                except ValueError as error:
                    future.set_exception(error)
                    raise
            self._forget(stream)
        elif stream in self._kept_open and (messages := stream.messages()):
            self._write(self._talk.cancel(stream))
            if not pending[0].done():
                pending[0].set_result(messages[0])
            self._forget(stream)

    def _forget(self, stream: Stream) -> None:
        """Not before it is answered: a signal handler may raise, and whoever is still there is told of the end."""
        self._pending.pop(stream, None)
        self._kept_open.discard(stream)

    def connection_lost(self, exc: Exception | None) -> None:
        self.end(ended_by(exc, "the server closed the connection"))

    def _check(self) -> None:
        """One timer for all: the oldest call is the first to be late, and then all behind it are."""
        try:
            self._timer = None
            if self._pending:
                sent_at = next(iter(self._pending.values()))[1]
                left = sent_at + self._patience - self._loop.time()
                if left <= 0:
                    self.end(TimeoutError())
                else:
                    self._timer = self._loop.call_later(left, self._check)
        except BaseException:
            self.end(ConnectionError(INTERRUPTED))
            raise

    def end(self, error: BaseException) -> None:
        if self._is_told:
            return
        self.error = self.error or error
        if self._transport is not None and not self._loop.is_closed():
            self._transport.abort()
        if self._timer is not None:
            self._timer.cancel()
        futures: list[asyncio.Future[Any]] = [self._greeted, *(future for future, _ in self._pending.values())]
        for future in futures:
            if not future.done() and not self._loop.is_closed():
                future.set_exception(error)
                # Whoever was cancelled meanwhile will not look.
                future.exception()
        self._pending.clear()
        if self.on_end is not None:
            self.on_end()
        self._is_told = True


async def _connect(endpoints: Endpoints, address: Address, share: float, patience: float) -> Connection:
    connection = Connection(endpoints, address, patience)
    try:
        async with asyncio.timeout(share):
            await dial(connection, address.host, address.port, endpoints.tls, share)
            await connection.greeted()
        return connection
    except BaseException:
        connection.end(ConnectionError("not let in"))
        raise


class Link:
    """The connection to one cluster, made when it is needed, and again after it was lost."""

    # Until there is one; whoever makes this may be interrupted.
    _connection: Connection | None = None

    def __init__(self, endpoints: Endpoints, patience: float) -> None:
        self.endpoints = endpoints
        self.patience = patience
        self._connecting = runtime.Mutex()
        self._closed = False

    async def connect(self) -> Connection:
        """A connection that a member has let in: the current one, or whichever of the others comes first."""
        if self._closed:
            raise Unavailable(f"the connection to etcd at {self.endpoints} was closed here")
        endpoints = self.endpoints
        until = boottime() + runtime.patience(self.patience)
        for left in range(len(endpoints) - 1, -1, -1):
            address = endpoints.current
            share = max(0.001, (until - boottime()) / (left + 1))
            try:
                return await self._enter(await _connect(endpoints, address, share, self.patience), share)
            except (OSError, ValueError) as error:
                endpoints.leave(address)
                if not left:
                    raise unreachable(error, address, share) from error
        raise AssertionError("there is always one")

    async def _enter(self, connection: Connection, patience: float) -> Connection:
        try:
            if self.endpoints.credentials is not None and self.endpoints.token is None:
                body = request.authenticate(*self.endpoints.credentials)
                async with asyncio.timeout(patience):
                    self.endpoints.token = answer.token(await connection.call(request.AUTHENTICATE, body))
                # What was encoded so far says nothing of the token.
                connection.forget_token()
            return connection
        except BaseException as error:
            connection.end(ConnectionError("not let in"))
            if isinstance(error, RpcError):
                error.where = connection.address
                raise explain(error) from error
            raise

    async def take(self) -> Connection:
        connection = self._connection
        if connection is not None and connection.is_usable:
            return connection
        try:
            # With the wait for another who connects: in turn, each would have as long in vain.
            async with asyncio.timeout(self.patience), self._connecting:
                connection = self._connection
                if connection is None or not connection.is_usable:
                    connection = self._connection = await self.connect()
                return connection
        except TimeoutError as error:
            raise unreachable(error, self.endpoints.current, self.patience) from error

    def drop(self, connection: Connection) -> None:
        """Something went wrong there: the next call goes to the next member."""
        self.endpoints.leave(connection.address)
        if self._connection is connection:
            self._connection = None
        connection.end(ConnectionError("another member is asked"))

    def distrust(self) -> None:
        """Whoever answered said what makes no sense: ask the next member."""
        self.endpoints.leave(self.endpoints.current)
        self.clear()

    def clear(self) -> None:
        """Begin anew with the next call."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.end(ConnectionError("a new connection is made"))

    async def call(self, path: str, body: bytes) -> bytes:
        connection = self._connection
        if connection is None or not connection.is_usable:
            connection = await self.take()
        try:
            return await connection.call(path, body)
        except (OSError, ValueError, RpcError) as error:
            self._failed(connection, error)
            raise
        except asyncio.CancelledError:
            self._given_up(connection)
            raise

    async def calls(self, work: Sequence[Call]) -> "list[bytes | RpcError]":
        """What each is answered, all asked at once."""
        connection = await self.take()
        futures = [connection.call(path, body) for path, body in work]
        found: list[bytes | RpcError] = []
        try:
            answers = await asyncio.gather(*futures, return_exceptions=True)
        except asyncio.CancelledError:
            self._given_up(connection)
            raise
        for each in answers:
            if isinstance(each, bytes | RpcError):
                found.append(each)
            else:
                self._failed(connection, each)
                raise each
        return found

    def _given_up(self, connection: Connection) -> None:
        """Its caller's own time was over, or it was cancelled: that alone is no proof against a member."""
        if is_proof(connection.silence, self.patience):
            self.drop(connection)

    def _failed(self, connection: Connection, error: BaseException) -> None:
        if isinstance(error, RpcError):
            error.where = connection.address
        if isinstance(error, RpcError) and not error.elsewhere:
            return
        self.drop(connection)
        if isinstance(error, OSError | ValueError):
            raise unreachable(error, connection.address, self.patience) from error

    def close(self) -> None:
        self._closed = True
        self.clear()

    def __del__(self) -> None:
        # Whoever was interrupted on the way to closing it is told nothing: the socket is closed all the same.
        if self._connection is not None:
            self._connection.end(ConnectionError("forgotten here"))


class Ear:
    """One watch stream for all who wait; what it hears is told as it comes."""

    def __init__(self, hear: Callable[[bytes], None], ended: Callable[[], None]) -> None:
        self._hear = hear
        self._ended = ended
        self._connection: Connection | None = None
        self._stream: Stream | None = None
        self._lobby = Lobby()
        self._opening = runtime.Mutex()
        # How many watches were asked for on the stream.
        self._watches = 0

    @property
    def is_open(self) -> bool:
        return self._stream is not None

    def is_elsewhere(self, address: Address) -> bool:
        """Whether it listens at another member than this one."""
        connection = self._connection
        return connection is not None and connection.address != address

    async def watch(self, words: Callable[[int], bytes], link: Link) -> None:
        """Ask for a watch, in the words for the number that it has on the stream: see `request.watch`."""
        await self._say(lambda: words(self._count()), link)

    async def say(self, message: bytes, link: Link) -> None:
        """Send on the stream, which is opened if there is none."""
        await self._say(lambda: message, link)

    async def _say(self, words: Callable[[], bytes], link: Link) -> None:
        async with self._opening:
            if self._connection is None or self._stream is None:
                connection = await link.connect()
                connection.on_stream = self._stirred
                connection.on_end = self.close
                self._connection = connection
                self._watches = 0
                try:
                    self._stream = connection.start(request.WATCH, words(), last=False)
                except ConnectionError as error:
                    self.close()
                    raise unreachable(error, connection.address, link.patience) from error
            else:
                self._connection.say(self._stream, words())

    def _count(self) -> int:
        self._watches += 1
        return self._watches - 1

    async def wait(self, waiter: Waiter, until: float) -> None:
        """Return when the waiter is stirred, or at `until`. `Unavailable` if nothing can be heard any more."""
        await self._lobby.wait(waiter, until, self._check_open)

    def _check_open(self) -> None:
        if not self.is_open:
            raise Unavailable("the stream on which etcd tells of changes was lost")

    def close(self) -> None:
        """Hear no more. Whoever waits is told."""
        connection, self._connection, self._stream = self._connection, None, None
        if connection is None:
            return
        connection.on_end = None
        connection.end(ConnectionError("closed here"))
        self._ended()
        self._lobby.ring_all()

    def _stirred(self, stream: Stream) -> None:
        if stream is self._stream:
            for message in stream.messages():
                self._hear(message)
            if stream.done:
                self.close()
