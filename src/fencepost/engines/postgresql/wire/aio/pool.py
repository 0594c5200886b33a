"""Connections lent out, one statement at a time."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

from psycopg import pq

from fencepost.engines.postgresql.address import Address
from fencepost.engines.postgresql.query import Parameter, Query
from fencepost.engines.postgresql.trouble import ServerError, explain
from fencepost.engines.postgresql.wire.aio.connection import Connection, connect
from fencepost.errors import Unavailable

MOST_OPEN = 8
Result = pq.abc.PGresult


class Pool:
    """Connections for one statement each, up to a few. `greet` makes a new one ready for use."""

    def __init__(self, address: Address, patience: float, greet: Callable[[Connection], Awaitable[None]]) -> None:
        self.address = address
        self._patience = patience
        self._greet = greet
        self._free: deque[Connection] = deque()
        self._room = asyncio.Semaphore(MOST_OPEN)
        self._closed = False

    async def call(self, query: Query, *parameters: Parameter) -> Result:
        async with self._room:
            return await self._ask(await self._take(), query, parameters)

    async def call_at_once(self, query: Query, *parameters: Parameter) -> Result:
        """For whoever can not wait until others were answered: on one connection more, if need be."""
        return await self._ask(self._idle() or await self._connect(), query, parameters)

    async def _ask(self, connection: Connection, query: Query, parameters: tuple[Parameter, ...]) -> Result:
        try:
            result = await connection.call(query, *parameters)
        except asyncio.CancelledError:
            # The answer that is owed is waited for by whoever takes it next, if nobody has come when it is there.
            self._give_back(connection, last=True)
            raise
        except ServerError as error:
            self._give_back(connection)
            raise explain(error, self.address) from error
        except BaseException:
            self._drop(connection)
            raise
        self._give_back(connection)
        return result

    async def _take(self) -> Connection:
        while self._free:
            connection = self._free.pop()
            if connection.is_open:
                return connection
            connection.close()
        return await self._connect()

    def _idle(self) -> Connection | None:
        """One that owes no answer to anybody who was cancelled."""
        for connection in reversed(self._free):
            if connection.is_open and not connection.owes:
                self._free.remove(connection)
                return connection
        return None

    async def _connect(self) -> Connection:
        if self._closed:
            raise Unavailable(f"the connection to postgresql at {self.address} was closed here")
        connection = await connect(self.address, self._patience)
        try:
            await self._greet(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _give_back(self, connection: Connection, *, last: bool = False) -> None:
        if self._closed or not connection.is_open:
            connection.close()
        elif last:
            self._free.appendleft(connection)
        else:
            self._free.append(connection)

    def _drop(self, connection: Connection) -> None:
        connection.close()
        # Those that are idle are of the same age or older: whatever ended this one has ended them.
        while self._free:
            self._free.pop().close()

    def close(self) -> None:
        self._closed = True
        while self._free:
            self._free.pop().close()
