"""Whether what SQLAlchemy takes for a transaction is one of the database, too.

With AUTOCOMMIT, however it was asked for, SQLAlchemy begins and commits as ever and says nothing to the database: each
statement is by itself, and between a claim and the write behind it anybody can come.
"""

from typing import Any

from fencepost.errors import FencepostError
from fencepost.fences.sql.dialect import SQLITE, Dialect


def check_transactions(dialect: Dialect, pooled: Any) -> None:
    """`pooled`: what SQLAlchemy has from its pool. For SQLite to be asked when a transaction was begun."""
    if _is_off_in_sqlite(pooled.driver_connection) if dialect is SQLITE else _is_on(pooled.dbapi_connection):
        raise FencepostError(
            "this connection commits each statement by itself, so nothing would keep others out between the claim and "
            "the write: use one without AUTOCOMMIT"
        )


def _is_off_in_sqlite(connection: Any) -> bool:
    # A transaction that will begin with the first write is one as well.
    begins = connection.isolation_level is not None and getattr(connection, "autocommit", False) is not True
    return not connection.in_transaction and not begins


def _is_on(connection: Any) -> bool:
    found = getattr(connection, "get_autocommit", None) or getattr(connection, "autocommit", False)
    return bool(found() if callable(found) else found)
