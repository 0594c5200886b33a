"""Asynchronous connections: a caller takes a free one, or makes one."""

import asyncio
from typing import cast

from fencepost._runtime import aio as runtime
from fencepost._runtime.clock import LONGEST_NAP, boottime
from fencepost._runtime.patience import is_proof
from fencepost._runtime.protocol import Protocol, dial, ended_by
from fencepost.drivers.consul.http import Parser, Response
from fencepost.engines.consul.address import Host
from fencepost.engines.consul.trouble import unreachable
from fencepost.engines.consul.wire import MOST_CALLS
from fencepost.errors import Unavailable

MOST_IDLE = 16


class Connection(Protocol):
    """One socket, with at most one request under way."""

    def __init__(self, host: Host) -> None:
        super().__init__()
        self.host = host
        self._loop = asyncio.get_running_loop()
        self._parser = Parser()
        self._answer: asyncio.Future[Response | None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Not asserted: the transports of other event loops, uvloop's among them, share the methods and not the class.
        self._transport = cast(asyncio.Transport, transport)
        if self.error is not None:
            # The caller gave up while we were connecting.
            self._transport.abort()

    def send(self, request: bytes) -> "asyncio.Future[Response | None]":
        future = self._answer = self._loop.create_future()
        if self.error is not None or self._transport is None:
            future.set_exception(self.error or ConnectionError("not connected"))
        else:
            self._transport.write(request)
        return future

    def data_received(self, data: bytes) -> None:
        try:
            response = self._parser.feed(data)
        except ValueError as error:
            self.end(error)
            return
        if response is None:
            return
        future = self._answer
        if future is None:
            self.end(ConnectionError("the agent said something nobody asked for"))
        elif not future.done():
            future.set_result(response)
        # Not before: a signal handler may raise, and whoever is still there is told of the end that follows.
        self._answer = None

    def connection_lost(self, exc: Exception | None) -> None:
        self.end(ended_by(exc, "the agent closed the connection"))

    def end(self, error: BaseException) -> None:
        if self._is_told:
            return
        self.error = self.error or error
        if self._transport is not None and not self._loop.is_closed():
            self._transport.abort()
        future = self._answer
        if future is not None and not future.done():
            future.set_exception(error)
            # Whoever was cancelled meanwhile will not look.
            future.exception()
        self._answer = None
        self._is_told = True


class Watch:
    """A question that is answered only with news; `interrupt` ends it early."""

    __slots__ = ("future", "over")

    def __init__(self) -> None:
        self.future: asyncio.Future[Response | None] | None = None
        self.over = False

    def interrupt(self) -> None:
        self.over = True
        if self.future is not None and not self.future.done():
            self.future.set_result(None)


class Link:
    """Connections to the agents, as many as callers at a time, all to the agent that answered last."""

    def __init__(self, hosts: tuple[Host, ...], patience: float) -> None:
        self.patience = patience
        self._hosts = list(hosts)
        self._free: list[Connection] = []
        self._turns = asyncio.Semaphore(MOST_CALLS)
        self._closed = False

    @property
    def host(self) -> Host:
        return self._hosts[0]

    async def call(self, request: bytes) -> Response:
        await self._turn()
        try:
            connection = await self._take()
            timer: asyncio.TimerHandle | None = None
            began_at = boottime()
            try:
                future = connection.send(request)
                timer = future.get_loop().call_later(self.patience, _expire, future)
                response = await future
                assert response is not None
            except BaseException as error:
                connection.end(ConnectionError("nobody waits any more"))
                if isinstance(error, OSError | ValueError):
                    self._distrust(connection.host)
                    raise unreachable(error, connection.host, self.patience) from error
                if is_proof(boottime() - began_at, self.patience):
                    self._distrust(connection.host)
                raise
            finally:
                if timer is not None:
                    timer.cancel()
            self._give_back(connection, response)
            return response
        finally:
            self._turns.release()

    async def _turn(self) -> None:
        """Wait for a turn no longer than for an answer: all who have one may wait in vain."""
        if not self._turns.locked():
            await self._turns.acquire()
            return
        try:
            async with asyncio.timeout(self.patience):
                await self._turns.acquire()
        except TimeoutError:
            raise Unavailable(f"{MOST_CALLS} requests to consul at {self.host} are under way already") from None

    async def watch(self, request: bytes, until: float, watch: Watch) -> Response | None:
        """The news; None when the clock shows `until`, or after an interruption."""
        connection = await self._take()
        response: Response | None = None
        try:
            future = watch.future = connection.send(request)
            while not watch.over and not future.done() and (left := until - boottime()) > 0:
                await asyncio.wait([future], timeout=min(left, LONGEST_NAP))
            response = future.result() if future.done() else None
        except (OSError, ValueError) as error:
            self._distrust(connection.host)
            raise unreachable(error, connection.host, self.patience) from error
        finally:
            watch.future = None
            if response is None:
                connection.end(ConnectionError("nobody waits any more"))
        if response is not None:
            self._give_back(connection, response)
        return response

    def close(self) -> None:
        self._closed = True
        for connection in self._free:
            connection.end(ConnectionError("closed here"))

    def __del__(self) -> None:
        # Whoever was interrupted on the way to closing it is told nothing: the sockets are closed all the same.
        if hasattr(self, "_free"):
            self.close()

    async def _take(self) -> Connection:
        while self._free:
            connection = self._free.pop()
            if connection.error is None:
                return connection
        return await self._connect()

    async def _connect(self) -> Connection:
        """To the first agent that lets us in: nothing was sent yet, so trying another is no second attempt."""
        if self._closed:
            raise Unavailable(f"the connection to consul at {self.host} was closed here")
        trouble: Unavailable | None = None
        until, hosts = boottime() + runtime.patience(self.patience), list(self._hosts)
        for number, host in enumerate(hosts):
            share = max(0.001, (until - boottime()) / (len(hosts) - number))
            try:
                return await _connect(host, share)
            except OSError as error:
                if trouble is None:
                    trouble = unreachable(error, host, share)
                    trouble.__cause__ = error
                self._distrust(host)
        assert trouble is not None
        raise trouble

    def _give_back(self, connection: Connection, response: Response) -> None:
        if response.closing or self._closed or len(self._free) >= MOST_IDLE:
            connection.end(ConnectionError("not needed any more"))
            return
        if response.status == 500:
            # An agent without a leader may be the one that is cut off.
            self._distrust(connection.host)
        self._free.append(connection)

    def _distrust(self, host: Host) -> None:
        """Ask another agent from now on, if there is one. Idle connections are of the same kind, or older."""
        if self._hosts[0] == host:
            self._hosts = [*(each for each in self._hosts if each != host), host]
        for connection in self._free:
            connection.end(ConnectionError("to an agent that does not answer"))
        self._free.clear()


def _expire(future: "asyncio.Future[Response | None]") -> None:
    if not future.done():
        future.set_exception(TimeoutError())


async def _connect(host: Host, patience: float) -> Connection:
    connection = Connection(host)
    try:
        async with asyncio.timeout(patience):
            await dial(connection, host.host, host.port, host.tls, patience)
    except BaseException:
        connection.end(ConnectionError("nobody waits any more"))
        raise
    return connection
