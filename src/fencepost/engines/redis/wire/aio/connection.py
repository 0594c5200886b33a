"""One asynchronous connection, for all callers, who write in turn and are answered in turn."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import cast

from fencepost._runtime import fork
from fencepost._runtime.protocol import INTERRUPTED, Protocol, dial, ended_by
from fencepost.engines.redis.address import Address
from fencepost.engines.redis.pulse import PING, Pulse
from fencepost.engines.redis.resp import Parser, Reply, ReplyError
from fencepost.engines.redis.trouble import explain, unreachable


class Connection(Protocol):
    """One socket. Every command sent has its place in `pending`, kept also when its caller is gone."""

    def __init__(self, patience: float) -> None:
        super().__init__()
        self._loop = asyncio.get_running_loop()
        self._generation = fork.generation()
        self._patience = patience
        self._parser = Parser()
        self._pending: deque[tuple[asyncio.Future[Reply], float]] = deque()
        self._outbox: list[bytes] = []
        self._timer: asyncio.TimerHandle | None = None
        self._transport: asyncio.Transport | None = None
        self.error: BaseException | None = None
        self._on_push: Callable[[Reply], None] | None = None
        self._pulse: Pulse | None = None
        self.on_end: Callable[[], None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Not asserted: the transports of other event loops, uvloop's among them, share the methods and not the class.
        self._transport = cast(asyncio.Transport, transport)
        if self.error is not None:
            # The caller gave up while we were connecting.
            self._transport.abort()

    def send(self, command: bytes) -> "asyncio.Future[Reply]":
        """Write now if nothing is on its way; else together with what others write in this turn of the loop."""
        future: asyncio.Future[Reply] = self._loop.create_future()
        if self.error is not None or self._transport is None:
            future.set_exception(self.error or ConnectionError("not connected"))
            return future
        pending = self._pending
        try:
            if not pending:
                self._transport.write(command)
            else:
                if not self._outbox:
                    self._loop.call_soon(self._flush)
                self._outbox.append(command)
            pending.append((future, self._loop.time()))
            if self._timer is None:
                self._timer = self._loop.call_later(self._patience, self._check)
        except BaseException:
            # Its answer would be taken for that of the next.
            self.end(ConnectionError(INTERRUPTED))
            raise
        return future

    def listen(self, on_push: Callable[[Reply], None]) -> None:
        """Take what nobody asked for, and see from time to time that it is still there to come."""
        self._on_push = on_push
        self._pulse = Pulse(self._patience, self._loop.time())
        self._beat(self._pulse)

    def _beat(self, pulse: Pulse) -> None:
        if self.error is not None or self._transport is None:
            return
        try:
            # What answers it is no reply, and has no place: a message may come before it.
            if not self._pending and pulse.asks(self._loop.time()):
                self._transport.write(PING)
            self._loop.call_later(pulse.patience / 2, self._beat, pulse)
        except TimeoutError as error:
            self.end(error)
        except BaseException:
            self.end(ConnectionError(INTERRUPTED))
            raise

    def _flush(self) -> None:
        try:
            if self._outbox and self._transport is not None:
                self._transport.write(b"".join(self._outbox))
            self._outbox.clear()
        except BaseException:
            self.end(ConnectionError(INTERRUPTED))
            raise

    def data_received(self, data: bytes) -> None:
        try:
            replies = self._parser.feed(data)
        except ValueError as error:
            self.end(error)
            return
        pending = self._pending
        for reply in replies:
            if pending:
                future = pending[0][0]
                if not future.done():
                    future.set_result(reply)
                # Not before: a signal handler may raise, and whoever is still there is told of the end that follows.
                pending.popleft()
            elif self._on_push is not None and self._pulse is not None:
                self._pulse.hear(self._loop.time())
                self._on_push(reply)
            else:
                # What it answers next may be to this, too.
                self.end(ValueError("the server answered what nobody asked"))
                return

    def connection_lost(self, exc: Exception | None) -> None:
        self.end(ended_by(exc, "the server closed the connection"))

    def _check(self) -> None:
        """One timer for all: the oldest command is the first to be late, and then all behind it are."""
        try:
            self._timer = None
            if self._pending:
                left = self._pending[0][1] + self._patience - self._loop.time()
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
        if self._generation != fork.generation():
            # The child of a fork shares its parent's event loop down to the kernel: to take the socket out of it
            # here would deafen the parent.
            return
        if self._transport is not None and not self._loop.is_closed():
            self._transport.abort()
        if self._timer is not None:
            self._timer.cancel()
        for future, _ in self._pending:
            if not future.done():
                future.set_exception(error)
                # Whoever was cancelled meanwhile will not look.
                future.exception()
        self._pending.clear()
        if self.on_end is not None:
            self.on_end()
        self._is_told = True


async def connect(address: Address, patience: float) -> Connection:
    """A connection that the server has let in."""
    loop = asyncio.get_running_loop()
    connection = Connection(patience)
    try:
        async with asyncio.timeout(patience):
            if address.socket is not None:
                await loop.create_unix_connection(lambda: connection, address.socket)
            else:
                await dial(connection, address.host, address.port, address.tls, patience)
            for command in address.greeting():
                reply = await connection.send(command)
                if isinstance(reply, ReplyError):
                    raise explain(reply, address)
        return connection
    except BaseException as error:
        connection.end(ConnectionError("not let in"))
        if isinstance(error, OSError | ValueError):
            raise unreachable(error, address, patience) from error
        raise
