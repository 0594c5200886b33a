"""Connecting, as steps: what to wait for next, until libpq is connected."""

import select
from collections.abc import Generator

from psycopg import pq

from fencepost.engines.postgresql.address import Address
from fencepost.engines.postgresql.trouble import not_let_in

Step = tuple[int, int]


def dial(address: Address) -> Generator[Step, None, pq.abc.PGconn]:
    """Yields a descriptor and the event of `select.poll` to wait for on it."""
    connection: pq.abc.PGconn = pq.PGconn.connect_start(address.conninfo)
    try:
        if connection.status == pq.ConnStatus.BAD:
            raise not_let_in(connection.get_error_message(), address)
        event = select.POLLOUT
        while True:
            yield connection.socket, event
            match connection.connect_poll():
                case pq.PollingStatus.OK:
                    return connection
                case pq.PollingStatus.READING:
                    event = select.POLLIN
                case pq.PollingStatus.WRITING:
                    event = select.POLLOUT
                case _:
                    raise not_let_in(connection.get_error_message(), address)
    except BaseException:
        connection.finish()
        raise
