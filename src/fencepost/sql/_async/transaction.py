# Written by hand; the blocking twin under _sync is generated from it.
"""Advisory locks that end with the caller's transaction."""

from typing import Any

from psycopg import AsyncConnection
from psycopg.pq import TransactionStatus

from fencepost.core.name import check_name

LOCK = {False: b"pg_advisory_xact_lock", True: b"pg_advisory_xact_lock_shared"}
TRY = {False: b"pg_try_advisory_xact_lock", True: b"pg_try_advisory_xact_lock_shared"}


async def xact_lock(connection: AsyncConnection[Any], name: str, *, shared: bool = False) -> None:
    """Wait for the lock on `name`; it is held until the caller's transaction ends, and can not be given back before."""
    check_name(name)
    check_transaction(connection)
    await connection.execute(b"SELECT %b(hashtextextended(%%s, 0))" % LOCK[bool(shared)], [name])


async def try_xact_lock(connection: AsyncConnection[Any], name: str, *, shared: bool = False) -> bool:
    """Whether the lock on `name` was free, and is now held until the caller's transaction ends."""
    check_name(name)
    check_transaction(connection)
    cursor = await connection.execute(b"SELECT %b(hashtextextended(%%s, 0))::int" % TRY[bool(shared)], [name])
    assert cursor.pgresult is not None
    return cursor.pgresult.get_value(0, 0) == b"1"


def check_transaction(connection: AsyncConnection[Any]) -> None:
    """Outside of a transaction the lock would be gone before the caller's next line."""
    if connection.autocommit and connection.info.transaction_status == TransactionStatus.IDLE:
        raise ValueError("no transaction is open on this connection: use `with connection.transaction():`")
