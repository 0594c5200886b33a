"""Connections lent out, one statement at a time."""

import math
from collections.abc import Callable
from time import monotonic

from psycopg import pq

from fencepost.engines.postgresql.address import Address
from fencepost.engines.postgresql.query import Parameter, Query
from fencepost.engines.postgresql.trouble import ServerError, explain, late
from fencepost.engines.postgresql.wire.threads.connection import Connection, connect
from fencepost.errors import Unavailable

MOST_IDLE = 16
TRUSTED = 1.0


class Pool:
    """Connections for one statement each, as many as callers at a time. `greet` makes a new one ready for use."""

    def __init__(self, address: Address, patience: float, greet: Callable[[Connection], None]) -> None:
        self.address = address
        self._patience = patience
        self._milliseconds = max(1, math.ceil(patience * 1000))
        self._greet = greet
        self._free: list[Connection] = []
        self._closed = False

    def call(self, query: Query, *parameters: Parameter) -> pq.abc.PGresult:
        connection = self._take()
        try:
            # It is nobody else's meanwhile.
            result = connection.ask(query, parameters, self._milliseconds)
            if result is None:
                raise late(self.address, connection.waited)
        except ServerError as error:
            if connection.is_open:
                self._give_back(connection)
            else:
                connection.close()
            raise explain(error, self.address) from error
        except BaseException:
            # Its backend may still be at it: whatever that does is settled by the request's id.
            self._drop(connection)
            raise
        self._give_back(connection)
        return result

    # Nobody waits for others here.
    call_at_once = call

    def _give_back(self, connection: Connection) -> None:
        if self._closed or len(self._free) >= MOST_IDLE:
            connection.close()
        else:
            connection.used_at = monotonic()
            self._free.append(connection)

    def _take(self) -> Connection:
        while True:
            try:
                connection = self._free.pop()
            except IndexError:
                break
            # One that was idle for long may have been closed meanwhile. To look each time would cost a system call.
            if monotonic() - connection.used_at < TRUSTED or not connection.is_over():
                return connection
            self._drop(connection)
        if self._closed:
            raise Unavailable(f"the connection to postgresql at {self.address} was closed here")
        connection = connect(self.address, self._patience)
        try:
            self._greet(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _drop(self, connection: Connection) -> None:
        connection.close()
        # Those that are idle are of the same age or older: whatever ended this one has ended them.
        while self._free:
            try:
                self._free.pop().close()
            except IndexError:
                break

    def close(self) -> None:
        self._closed = True
        while self._free:
            self._free.pop().close()
