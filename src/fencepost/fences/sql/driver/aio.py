"""Asynchronous connections: psycopg, asyncpg, aiosqlite, SQLAlchemy."""

from collections.abc import Mapping
from typing import Any, Protocol

from fencepost.fences.sql.dialect import MYSQL, POSTGRESQL, SQLITE, Dialect, dialect_named
from fencepost.fences.sql.driver.autocommit import check_transactions
from fencepost.fences.sql.driver.kind import Adapter, adapter_of, unfit
from fencepost.fences.sql.statement import Answer, positional, pyformat

Params = Mapping[str, Any]
TAKES = "an asynchronous connection of psycopg, asyncpg, aiosqlite or SQLAlchemy"


class Driver(Protocol):
    """One connection. Statements given together are one round trip, where the library can do that."""

    connection: Any
    dialect: Dialect
    # Whether a transaction of ours keeps out other writers of the whole database from its beginning.
    alone: bool

    def in_transaction(self) -> bool: ...
    def check_open(self) -> None: ...
    async def begin(self, *then: str) -> None: ...
    async def script(self, *statements: str) -> None: ...
    async def commit(self, *before: str) -> None: ...
    async def rollback(self) -> None: ...

    async def run(self, sql: str, params: Params) -> Answer:
        """One of our own statements, with `:name` parameters."""

    async def raw(self, sql: str, params: Any) -> Answer:
        """One of the caller's, in the library's own style."""

    async def piped(self, first: str, first_params: Params, sql: str, params: Any, *around: str) -> Answer | None:
        """Both in one round trip; None, and nothing done, where that can not be.

        In a transaction of their own; or in the one that is open, between the two statements `around` them.
        """


def adapt(connection: Any) -> Driver:
    kinds: dict[str, Any] = {
        "psycopg": Psycopg,
        "asyncpg": Asyncpg,
        "aiosqlite": Aiosqlite,
        "sqlalchemy": Sqlalchemy,
    }
    driver: Driver = adapter_of(connection, kinds, TAKES)
    return driver


class _Scripts(Adapter):
    """What these libraries have in common."""

    async def script(self, *statements: str) -> None:
        raise NotImplementedError

    async def begin(self, *then: str) -> None:
        await self.script(self.dialect.begin, *then)

    async def commit(self, *before: str) -> None:
        await self.script(*before, "COMMIT")

    async def rollback(self) -> None:
        await self.script("ROLLBACK")

    async def piped(self, first: str, first_params: Params, sql: str, params: Any, *around: str) -> Answer | None:
        return None


class Psycopg(_Scripts):
    dialect = POSTGRESQL

    @classmethod
    def fits(cls, connection: Any) -> bool:
        from psycopg import AsyncConnection

        return isinstance(connection, AsyncConnection)

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

    def _cursor(self) -> Any:
        return self.connection.cursor(row_factory=self._rows)

    def in_transaction(self) -> bool:
        return bool(self.connection.pgconn.transaction_status != self._idle)

    async def begin(self, *then: str) -> None:
        # Without autocommit, psycopg begins by itself.
        await self.script(*((self.dialect.begin,) if self.connection.autocommit else ()), *then)

    async def script(self, *statements: str) -> None:
        if statements:
            await self._scripts.execute("; ".join(statements), prepare=False)

    async def run(self, sql: str, params: Params) -> Answer:
        return await self.raw(pyformat(sql), params)

    async def raw(self, sql: str, params: Any) -> Answer:
        cursor = self._cursor()
        await cursor.execute(sql, params)
        return await _answer(cursor)

    async def piped(self, first: str, first_params: Params, sql: str, params: Any, *around: str) -> Answer | None:
        from psycopg import AsyncPipeline

        if not AsyncPipeline.is_supported():
            return None
        cursor, refused = self._cursor(), None
        before, after = around or (None, None if self.connection.autocommit else "COMMIT")
        try:
            async with self.connection.pipeline():
                try:
                    if before:
                        await self._scripts.execute(before)
                    await self._scripts.execute(pyformat(first), first_params)
                    await cursor.execute(sql, params)
                    if after:
                        await self._scripts.execute(after)
                except self._error as error:
                    # The answer to the first may be here before the last is sent. Leaving the pipeline with an
                    # error would log all that follows from it.
                    refused = error
        except self._error:
            if refused is None:
                raise
        if refused is not None:
            raise refused
        return await _answer(cursor)


class Asyncpg(_Scripts):
    dialect = POSTGRESQL

    def in_transaction(self) -> bool:
        return bool(self.connection.is_in_transaction())

    async def script(self, *statements: str) -> None:
        if statements:
            await self.connection.execute("; ".join(statements))

    async def run(self, sql: str, params: Params) -> Answer:
        text, values = positional(sql, params)
        return await self.raw(text, values)

    async def raw(self, sql: str, params: Any) -> Answer:
        prepared = await self.connection.prepare(sql)
        rows = [tuple(row) for row in await prepared.fetch(*(params or ()))]
        count = prepared.get_statusmsg().split()[-1]
        return Answer(rows, int(count) if count.isdecimal() else -1)


class Aiosqlite(_Scripts):
    dialect = SQLITE
    alone = True

    def in_transaction(self) -> bool:
        return bool(self.connection.in_transaction)

    async def script(self, *statements: str) -> None:
        for statement in statements:
            await self.connection.execute(statement)

    async def run(self, sql: str, params: Params) -> Answer:
        try:
            return await self.raw(sql, params)
        except (OverflowError, UnicodeEncodeError) as error:
            raise unfit(error) from None

    async def raw(self, sql: str, params: Any) -> Answer:
        cursor = await self.connection.execute(sql, params or ())
        return await _answer(cursor)


async def _answer(cursor: Any) -> Answer:
    rows = [tuple(row) for row in await cursor.fetchall()] if cursor.description else []
    return Answer(rows, cursor.rowcount, getattr(cursor, "lastrowid", None))


class Sqlalchemy(_Scripts):
    """Transactions are SQLAlchemy's own; a statement goes past its compiler, in the style of its driver."""

    def __init__(self, connection: Any) -> None:
        super().__init__(connection)
        self.dialect = dialect_named(connection.dialect.name)
        if self.dialect is MYSQL:
            # No such library is known to tell the mark, which comes back as the id of what was inserted.
            raise TypeError(
                "a SQL fence takes MySQL and MariaDB through blocking connections only: "
                "PyMySQL, or SQLAlchemy and Django with it"
            )
        self._style = connection.dialect.paramstyle

    @classmethod
    def fits(cls, connection: Any) -> bool:
        return hasattr(connection, "exec_driver_sql") and hasattr(connection, "get_raw_connection")

    def in_transaction(self) -> bool:
        return bool(self.connection.in_transaction())

    def check_open(self) -> None:
        check_transactions(self.dialect, self.connection.sync_connection.connection)

    async def begin(self, *then: str) -> None:
        await self.connection.begin()
        await self.script(*then)

    async def script(self, *statements: str) -> None:
        for statement in statements:
            await self.connection.exec_driver_sql(statement)

    async def commit(self, *before: str) -> None:
        await self.script(*before)
        await self.connection.commit()

    async def rollback(self) -> None:
        await self.connection.rollback()

    async def run(self, sql: str, params: Params) -> Answer:
        if self._style == "numeric_dollar":
            text, values = positional(sql, params)
            return await self.raw(text, tuple(values))
        named = self._style in ("named", "qmark")
        return await self.raw(sql if named else pyformat(sql), dict(params))

    async def raw(self, sql: str, params: Any) -> Answer:
        found = await self.connection.exec_driver_sql(sql, params)
        rows = [tuple(row) for row in found.fetchall()] if found.returns_rows else []
        return Answer(rows, found.rowcount)
