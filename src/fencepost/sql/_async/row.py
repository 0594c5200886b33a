# Written by hand; the blocking twin under _sync is generated from it.
"""Rows, locked until the end of the caller's transaction."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from psycopg import AsyncConnection, sql
from psycopg.errors import LockNotAvailable

from fencepost.core.shown import shown
from fencepost.core.version import check_version
from fencepost.errors import AcquireTimeout
from fencepost.fences.sql.statement import quoted, quoted_all
from fencepost.sql._async.transaction import check_transaction

IfLocked = Literal["wait", "fail", "skip"]
NEVER = "\0"
CLAUSE = {"wait": sql.SQL(""), "fail": sql.SQL(" NOWAIT"), "skip": sql.SQL(" SKIP LOCKED")}


async def lock_rows(
    connection: AsyncConnection[Any],
    table: str,
    where: Mapping[str, object],
    *,
    if_locked: IfLocked = "wait",
    order_by: Sequence[str] = (),
    limit: int | None = None,
) -> list[Any]:
    """The rows of `table` whose columns equal those in `where`, locked with `SELECT … FOR UPDATE`.

    Rows that another transaction has locked are waited for; or, with `if_locked="fail"`, raise `AcquireTimeout`, and
    the caller's transaction goes on; or, with "skip", are left out: with `order_by` and `limit=1` that is the next
    free job.
    """
    if not isinstance(if_locked, str) or if_locked not in CLAUSE:
        raise ValueError(f"if_locked is 'wait', 'fail' or 'skip', not {shown(if_locked)}")
    if not isinstance(where, Mapping):
        raise TypeError(f"where is a mapping of columns to values, not {type(where).__name__}")
    if limit is not None:
        check_version(limit, "limit")
    # For what they refuse: psycopg quotes them, and takes a quote in a name as well.
    quoted(table, NEVER)
    for columns, what in ((where, "the columns of where"), (order_by, "the columns of order_by")):
        quoted_all(columns, NEVER, what)
    check_transaction(connection)
    query = _query(table, list(where), order_by, limit) + CLAUSE[if_locked]
    if if_locked != "fail":
        return await (await connection.execute(query, list(where.values()))).fetchall()
    # An error ends a transaction, unless it can be rolled back to a point before it.
    await connection.execute(b"SAVEPOINT fencepost_rows")
    try:
        found = await (await connection.execute(query, list(where.values()))).fetchall()
    except LockNotAvailable as error:
        await connection.execute(b"ROLLBACK TO SAVEPOINT fencepost_rows")
        raise AcquireTimeout(f"a row of '{table}' is locked by another transaction") from error
    await connection.execute(b"RELEASE SAVEPOINT fencepost_rows")
    return found


def _query(table: str, columns: list[str], order_by: Sequence[str], limit: int | None) -> sql.Composed:
    conditions = [sql.SQL("{} = %s").format(sql.Identifier(column)) for column in columns]
    return sql.SQL("SELECT * FROM {table}{where}{order}{limit} FOR UPDATE").format(
        table=sql.Identifier(*table.split(".")),
        where=sql.SQL(" WHERE ") + sql.SQL(" AND ").join(conditions) if conditions else sql.SQL(""),
        order=sql.SQL(" ORDER BY ") + sql.SQL(", ").join(map(sql.Identifier, order_by)) if order_by else sql.SQL(""),
        limit=sql.SQL(" LIMIT {}").format(sql.Literal(limit)) if limit is not None else sql.SQL(""),
    )
