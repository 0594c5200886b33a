"""One socket on an event loop, on which the calls of all run side by side."""

import asyncio
import math
from collections.abc import Callable
from typing import Any, cast

from fencepost._runtime.protocol import INTERRUPTED, Protocol, ended_by
from fencepost.core.malformed import Malformed
from fencepost.drivers.etcd import request
from fencepost.drivers.etcd.endpoint import Address, Endpoints
from fencepost.drivers.etcd.http2 import PREFACE, Conversation, Method, Stream
from fencepost.drivers.etcd.trouble import RpcError, result

# What may wait to be sent when the server asks for more replies still, as with pings: in bytes.
MOST_UNSENT = 8 << 20


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
