"""Blocking connections: sqlite3, psycopg, PyMySQL, SQLAlchemy, Django. The names and meanings are those of `aio`."""

import sqlite3
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Protocol

from fencepost.fences.sql.dialect import MYSQL, POSTGRESQL, SQLITE, Dialect, dialect_named
from fencepost.fences.sql.driver.autocommit import check_transactions
from fencepost.fences.sql.driver.kind import Adapter, adapter_of, unfit
from fencepost.fences.sql.statement import Answer, pyformat

Params = Mapping[str, Any]
TAKES = "a connection of sqlite3, psycopg, PyMySQL, SQLAlchemy or Django"
IN_TRANSACTION = 1  # as MySQL's protocol has it in the status that comes with every answer


class Driver(Protocol):
    """One connection. Statements given together are one round trip, where the library can do that."""

    connection: Any
    dialect: Dialect
    # Whether a transaction of ours keeps out other writers of the whole database from its beginning.
    alone: bool

    def in_transaction(self) -> bool: ...
    def check_open(self) -> None: ...
    def begin(self, *then: str) -> None: ...
    def script(self, *statements: str) -> None: ...
    def commit(self, *before: str) -> None: ...
    def rollback(self) -> None: ...

    def run(self, sql: str, params: Params) -> Answer:
        """One of our own statements, with `:name` parameters."""

    def raw(self, sql: str, params: Any) -> Answer:
        """One of the caller's, in the library's own style."""

    def piped(self, first: str, first_params: Params, sql: str, params: Any, *around: str) -> Answer | None:
        """Both in one round trip; None, and nothing done, where that can not be.

        In a transaction of their own; or in the one that is open, between the two statements `around` them.
        """


def adapt(connection: Any) -> Driver:
    kinds: dict[str, Any] = {
        "sqlite3": Sqlite,
        "psycopg": Psycopg,
        "pymysql": Pymysql,
        "sqlalchemy": Sqlalchemy,
        "django": Django,
    }
    driver: Driver = adapter_of(connection, kinds, TAKES)
    return driver


class _Cursors(Adapter):
    """What libraries with cursors have in common."""

    @classmethod
    def fits(cls, connection: Any) -> bool:
        return hasattr(connection, "cursor")

    def cursor(self) -> Any:
        return self.connection.cursor()

    def begin(self, *then: str) -> None:
        self.script(self.dialect.begin, *then)

    def script(self, *statements: str) -> None:
        cursor = self.cursor()
        for statement in statements:
            cursor.execute(statement)
        cursor.close()

    def commit(self, *before: str) -> None:
        self.script(*before, "COMMIT")

    def rollback(self) -> None:
        self.script("ROLLBACK")

    def run(self, sql: str, params: Params) -> Answer:
        return self.raw(pyformat(sql), params)

    def raw(self, sql: str, params: Any) -> Answer:
        cursor = self.cursor()
        try:
            cursor.execute(sql, params)
            return answer(cursor)
        finally:
            cursor.close()

    def piped(self, first: str, first_params: Params, sql: str, params: Any, *around: str) -> Answer | None:
        return None


def answer(cursor: Any) -> Answer:
    rows = [tuple(row) for row in cursor.fetchall()] if cursor.description else []
    return Answer(rows, cursor.rowcount, getattr(cursor, "lastrowid", None))


class Sqlite(_Cursors):
    dialect = SQLITE
    alone = True

    def cursor(self) -> sqlite3.Cursor:
        # Not connection.cursor(), which passes on the user's row factory or may be the user's own method.
        return sqlite3.Cursor(self.connection)

    def in_transaction(self) -> bool:
        return bool(self.connection.in_transaction)

    def script(self, *statements: str) -> None:
        execute = sqlite3.Cursor(self.connection).execute
        for statement in statements:
            execute(statement)

    def run(self, sql: str, params: Params) -> Answer:
        try:
            cursor = sqlite3.Cursor(self.connection).execute(sql, params)
        except (OverflowError, UnicodeEncodeError) as error:
            raise unfit(error) from None
        return Answer(cursor.fetchall(), cursor.rowcount)


class Psycopg(_Cursors):
    dialect = POSTGRESQL

    def __init__(self, connection: Any) -> None:
        super().__init__(connection)
        from psycopg import Error
        from psycopg.pq import TransactionStatus
        from psycopg.rows import tuple_row

        self._error = Error
        self._rows = tuple_row
        self._idle = TransactionStatus.IDLE
        # Kept, since making one takes a tenth of a round trip. Nobody fetches from it.
        self._scripts = connection.cursor(row_factory=tuple_row)

    @classmethod
    def fits(cls, connection: Any) -> bool:
        from psycopg import Connection

        return isinstance(connection, Connection)

    def cursor(self) -> Any:
        return self.connection.cursor(row_factory=self._rows)

    def in_transaction(self) -> bool:
        return bool(self.connection.pgconn.transaction_status != self._idle)

    def begin(self, *then: str) -> None:
        # Without autocommit, psycopg begins by itself.
        self.script(*((self.dialect.begin,) if self.connection.autocommit else ()), *then)

    def script(self, *statements: str) -> None:
        if statements:
            self._scripts.execute("; ".join(statements), prepare=False)

    def piped(self, first: str, first_params: Params, sql: str, params: Any, *around: str) -> Answer | None:
        if not _has_pipeline():
            return None
        cursor, refused = self.cursor(), None
        before, after = around or (None, None if self.connection.autocommit else "COMMIT")
        try:
            with self.connection.pipeline():
                try:
                    if before:
                        self._scripts.execute(before)
                    self._scripts.execute(pyformat(first), first_params)
                    cursor.execute(sql, params)
                    if after:
                        self._scripts.execute(after)
                except self._error as error:
                    # The answer to the first may be here before the last is sent. Leaving the pipeline with an
                    # error would log all that follows from it.
                    refused = error
        except self._error:
            if refused is None:
                raise
        if refused is not None:
            raise refused
        return answer(cursor)


@cache
def _has_pipeline() -> bool:
    from psycopg import Pipeline

    return Pipeline.is_supported()


class Pymysql(_Cursors):
    dialect = MYSQL

    def cursor(self) -> Any:
        from pymysql.cursors import Cursor

        return self.connection.cursor(Cursor)

    def in_transaction(self) -> bool:
        if not self.connection.get_autocommit() and not self._status():
            # PyMySQL does not look at the status that comes behind rows, so a read may have begun a transaction.
            self.script("DO 0")
        return self._status()

    def _status(self) -> bool:
        return bool(self.connection.server_status & IN_TRANSACTION)


class Django(_Cursors):
    """Transactions are Django's own, so that `atomic` inside a guard nests in it."""

    def __init__(self, connection: Any) -> None:
        super().__init__(connection)
        self.dialect = dialect_named(connection.vendor)
        self._atomic: Any = None

    def in_transaction(self) -> bool:
        return bool(self.connection.in_atomic_block or not self.connection.get_autocommit())

    def begin(self, *then: str) -> None:
        from django.db.transaction import atomic

        block = atomic(using=self.connection.alias)
        block.__enter__()
        self._atomic = block
        self.script(*then)

    def commit(self, *before: str) -> None:
        self.script(*before)
        block, self._atomic = self._atomic, None
        block.__exit__(None, None, None)

    def rollback(self) -> None:
        block, self._atomic = self._atomic, None
        if self.connection.in_atomic_block:
            self.connection.set_rollback(True)
        if block is not None:
            block.__exit__(None, None, None)
        elif not self.connection.in_atomic_block:
            self.connection.rollback()
        # Else the block is the caller's: it lets no statement pass any more, and undoes all at its end.


class Sqlalchemy(_Cursors):
    """Transactions are SQLAlchemy's own; a statement goes past its compiler, in the style of its driver."""

    def __init__(self, connection: Any) -> None:
        super().__init__(connection)
        self.dialect = dialect_named(connection.dialect.name)
        self._named = connection.dialect.paramstyle in ("named", "qmark")

    @classmethod
    def fits(cls, connection: Any) -> bool:
        # Only one for asyncio has `get_raw_connection`.
        return hasattr(connection, "exec_driver_sql") and not hasattr(connection, "get_raw_connection")

    def in_transaction(self) -> bool:
        return bool(self.connection.in_transaction())

    def check_open(self) -> None:
        check_transactions(self.dialect, self.connection.connection)

    def begin(self, *then: str) -> None:
        self.connection.begin()
        self.script(*then)

    def script(self, *statements: str) -> None:
        for statement in statements:
            self.connection.exec_driver_sql(statement)

    def commit(self, *before: str) -> None:
        self.script(*before)
        self.connection.commit()

    def rollback(self) -> None:
        self.connection.rollback()

    def run(self, sql: str, params: Params) -> Answer:
        return self.raw(sql if self._named else pyformat(sql), dict(params))

    def raw(self, sql: str, params: Any) -> Answer:
        return result(self.connection.exec_driver_sql(sql, params))


def result(found: Any) -> Answer:
    """An answer from SQLAlchemy's result."""
    count, rowid = found.rowcount, None
    if not found.returns_rows:
        rowid = getattr(found, "lastrowid", None)
    rows: Sequence[Any] = found.fetchall() if found.returns_rows else []
    return Answer([tuple(row) for row in rows], count, rowid)
