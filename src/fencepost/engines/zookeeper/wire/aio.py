"""The asynchronous connection: all callers write in turn and are answered in turn."""

import asyncio
import ssl
from collections.abc import Sequence
from typing import cast

from fencepost._runtime import aio as runtime
from fencepost._runtime.clock import LONGEST_NAP, boottime
from fencepost._runtime.protocol import INTERRUPTED, Protocol, dial, ended_by
from fencepost.engines.zookeeper.frame import Intake, OnEvent
from fencepost.engines.zookeeper.jute import Reply, buffer, frame
from fencepost.engines.zookeeper.waiter import Waiter


class _Slot:
    """The replies to what one caller sent; kept also when the caller is gone."""

    __slots__ = ("_count", "future", "replies", "sent_at")

    def __init__(self, count: int, loop: asyncio.AbstractEventLoop) -> None:
        self.replies: list[Reply] = []
        self.future: asyncio.Future[list[Reply]] = loop.create_future()
        self.sent_at = loop.time()
        self._count = count

    def add(self, reply: Reply) -> None:
        self.replies.append(reply)
        if len(self.replies) == self._count and not self.future.done():
            self.future.set_result(self.replies)


class Connection(Protocol):
    def __init__(self, patience: float, on_event: OnEvent) -> None:
        super().__init__()
        # No more callers are wanted; those who are there are served.
        self.is_retired = False
        self._loop = asyncio.get_running_loop()
        self._patience = patience
        self._intake = Intake(on_event)
        self._outbox: list[bytes] = []
        self._xid = 0
        self._timer: asyncio.TimerHandle | None = None
        self._waiting: list[Waiter] = []

    @property
    def last_zxid(self) -> int:
        return self._intake.last_zxid

    @property
    def is_over(self) -> bool:
        return self.is_retired or self.error is not None

    async def greet(self, hello: bytes) -> bytes:
        """Send the connect request; what the server answers."""
        greeting: asyncio.Future[bytes] = self._loop.create_future()
        self._intake.on_greeting = lambda answer: None if greeting.done() else greeting.set_result(answer)
        assert self._transport is not None
        self._transport.write(buffer(hello))
        self._waiting.append(watch := Waiter())
        watch.bell = _Failing(greeting, self)
        try:
            return await greeting
        finally:
            self._waiting.remove(watch)

    async def call(self, requests: Sequence[bytes]) -> list[Reply]:
        if self.error is not None or self._transport is None:
            raise self._broken()
        slot = _Slot(len(requests), self._loop)
        pending = self._intake.pending
        alone = not pending
        try:
            for request in requests:
                self._xid = xid = self._xid % 0x7FFFFFFF + 1
                pending.append((xid, slot))
                self._outbox.append(frame(xid, request))
            # Write now if nothing is on its way; else together with what others write in this turn of the loop.
            if alone:
                self._flush()
            elif len(self._outbox) == len(requests):
                self._loop.call_soon(self._flush)
            if self._timer is None:
                self._timer = self._loop.call_later(self._patience, self._check)
        except BaseException:
            # Who comes next would wait for an answer to what was not sent.
            self.end(ConnectionError(INTERRUPTED))
            raise
        return await slot.future

    async def wait(self, waiter: Waiter, until: float) -> None:
        bell = waiter.bell = runtime.Event()
        self._waiting.append(waiter)
        try:
            while not waiter.stirred and (left := until - boottime()) > 0:
                if self.error is not None:
                    raise self._broken()
                await bell.wait(min(left, LONGEST_NAP))
                bell.clear()
        finally:
            self._waiting.remove(waiter)

    def end(self, error: BaseException) -> None:
        if self._is_told:
            return
        self.error = self.error or error
        if self._transport is not None and not self._loop.is_closed():
            self._transport.abort()
        if self._timer is not None:
            self._timer.cancel()
        for _, slot in self._intake.pending:
            assert isinstance(slot, _Slot)
            if not slot.future.done():
                slot.future.set_exception(error)
                # Whoever was cancelled meanwhile will not look.
                slot.future.exception()
        self._intake.pending.clear()
        for waiter in self._waiting:
            waiter.ring()
        self._is_told = True

    def _broken(self) -> ConnectionError:
        return ConnectionError(str(self.error or "") or "the connection has ended")

    def _flush(self) -> None:
        try:
            if self._outbox and self._transport is not None:
                self._transport.write(b"".join(self._outbox))
            self._outbox.clear()
        except BaseException:
            self.end(ConnectionError(INTERRUPTED))
            raise

    def _check(self) -> None:
        """One timer for all: the oldest request is the first to be late, and then all behind it are."""
        try:
            self._timer = None
            if self._intake.pending:
                slot = self._intake.pending[0][1]
                assert isinstance(slot, _Slot)
                left = slot.sent_at + self._patience - self._loop.time()
                if left <= 0:
                    self.end(TimeoutError())
                else:
                    self._timer = self._loop.call_later(left, self._check)
        except BaseException:
            self.end(ConnectionError(INTERRUPTED))
            raise

    # What the event loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Not asserted: the transports of other event loops, uvloop's among them, share the methods and not the class.
        self._transport = cast(asyncio.Transport, transport)
        if self.error is not None:
            # The caller gave up while we were connecting.
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        try:
            self._intake.feed(data)
        except ValueError as error:
            self.end(error)

    def connection_lost(self, exc: Exception | None) -> None:
        self.end(ended_by(exc, "the server closed the connection"))

    def __del__(self) -> None:
        # Whoever was interrupted on the way to closing it is told nothing: the socket is closed all the same.
        if hasattr(self, "_waiting"):
            self.end(ConnectionError("forgotten here"))


class _Failing:
    """The bell of somebody who waits for a greeting: rung when there will be none."""

    __slots__ = ("_connection", "_future")

    def __init__(self, future: "asyncio.Future[bytes]", connection: Connection) -> None:
        self._future = future
        self._connection = connection

    def set(self) -> None:
        if not self._future.done() and self._connection.error is not None:
            self._future.set_exception(self._connection.error)


async def connect(
    host: tuple[str, int],
    tls: ssl.SSLContext | None,
    hello: bytes,
    on_event: OnEvent,
    *,
    patience: float,
    within: float,
) -> tuple[Connection, bytes]:
    """A connection made `within` seconds, and what the server answered to `hello`."""
    connection = Connection(patience, on_event)
    try:
        async with asyncio.timeout(within):
            await dial(connection, *host, tls, within)
            return connection, await connection.greet(hello)
    except BaseException:
        connection.end(ConnectionError("not let in"))
        raise
