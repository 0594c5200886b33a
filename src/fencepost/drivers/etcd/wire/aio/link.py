"""The connection to one cluster on an event loop, at whichever member answers."""

import asyncio
from collections.abc import Sequence

from fencepost._runtime import aio as runtime
from fencepost._runtime.clock import boottime
from fencepost._runtime.patience import is_proof
from fencepost._runtime.protocol import dial
from fencepost.drivers.etcd import answer, request
from fencepost.drivers.etcd.endpoint import Address, Endpoints
from fencepost.drivers.etcd.trouble import RpcError, explain, unreachable
from fencepost.drivers.etcd.wire.aio.connection import Connection
from fencepost.errors import Unavailable


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

    async def calls(self, work: Sequence[request.Call]) -> "list[bytes | RpcError]":
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
            if isinstance(each, BaseException):
                self._failed(connection, each)
            if not isinstance(each, bytes | RpcError):
                raise each
            found.append(each)
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
