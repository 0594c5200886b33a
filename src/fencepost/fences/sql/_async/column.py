# Written by hand; the blocking twin under _sync is generated from it.
"""The fence on the protected row itself: its mark is a column, and a guarded write is one statement."""

from collections.abc import Sequence
from typing import Any

from fencepost._runtime import aio as runtime
from fencepost.errors import Stale
from fencepost.fences.protocol import Tokened, mark_of, token_of
from fencepost.fences.sql._async.retreat import retreat
from fencepost.fences.sql.dialect import MYSQL
from fencepost.fences.sql.driver import aio as driver
from fencepost.fences.sql.statement import Answer, quoted, quoted_all


class AsyncRowFence:
    """Guards single rows of `table`; the mark of a row is its own `column`, a BIGINT NOT NULL DEFAULT 0.

    A guarded write is the very UPDATE that writes, with one condition and one value more: no statement is added, and
    no transaction is needed. Inside an open transaction it takes part in that; if the caller rolls back, the claim is
    gone with the rest.

    Limits. There must be a row to hold the mark: `LookupError` where there is none. A deleted row forgets its mark.
    Statements that do not go through the fence are not refused: see `fencepost fence install` for a fence that
    refuses those, too.
    """

    def __init__(self, connection: Any, table: str, *, key: str = "id", column: str = "fencing_token") -> None:
        self._driver = driver.adapt(connection)
        self._mark = self._driver.dialect.quote
        self._name = table
        self._table = quoted(table, self._mark)
        self._key = quoted(key, self._mark)
        self._column = quoted(column, self._mark)
        # A locking read, where there is a difference: MySQL would otherwise answer from the transaction's past.
        self._current = " FOR UPDATE" if self._driver.dialect is MYSQL else ""
        self._updates: dict[tuple[str, ...], str] = {}

    async def claim(self, key: Any, grant: Tokened | int) -> None:
        """Show the token: every lower one is refused from now on, for this row."""
        await self.write(key, grant)

    async def read(self, key: Any, grant: Tokened | int, columns: Sequence[str]) -> tuple[Any, ...]:
        """Claim, then read: what these columns of the row hold."""
        wanted = ", ".join(quoted_all(columns, self._mark).values())
        if not wanted:
            raise ValueError("columns must not be empty: name at least one to read")
        await self.claim(key, grant)
        sql = f"SELECT {wanted} FROM {self._table} WHERE {self._key} = :key{self._current}"
        answer = await self._finish(sql, {"key": key})
        if not answer.rows:
            raise self._missing(key)
        return answer.rows[0]

    async def write(self, key: Any, grant: Tokened | int, /, **values: Any) -> None:
        """Set these columns of the row, unless the token is stale."""
        token = token_of(grant)
        params = {f"value_{number}": value for number, value in enumerate(values.values())}
        answer = await self._finish(self._update(tuple(values)), params | {"key": key, "token": token})
        if answer.changed < 1:
            # None; or the library does not count them.
            await self._explain(key, token)

    async def highest(self, key: Any) -> int:
        """The mark of the row. For people and tests; it decides nothing."""
        sql = f"SELECT {self._column} FROM {self._table} WHERE {self._key} = :key{self._current}"
        answer = await self._finish(sql, {"key": key})
        if not answer.rows:
            raise self._missing(key)
        return mark_of(str(key), answer.rows[0][0])

    def _update(self, columns: tuple[str, ...]) -> str:
        """The statement that writes these columns; made once."""
        made = self._updates.get(columns)
        if made is None:
            settings = [f"{quoted(column, self._mark)} = :value_{number}" for number, column in enumerate(columns)]
            made = self._updates[columns] = (
                f"UPDATE {self._table} SET {', '.join([*settings, f'{self._column} = :token'])} "
                f"WHERE {self._key} = :key AND {self._column} <= :token"
            )
        return made

    async def _explain(self, key: Any, token: int) -> None:
        """Why no row was changed, if none was."""
        mark = await self.highest(key)
        if mark > token:
            raise Stale(f"{self._name}/{key}", token, mark)
        if mark < token:
            # It was not there when the update ran, and somebody has made it since.
            raise self._missing(key)
        # It was changed. MySQL does not count a row that had these very values already.

    async def _finish(self, sql: str, params: dict[str, Any]) -> Answer:
        """Run it; outside of a transaction, with one of its own where the library has opened one."""
        joined = self._driver.in_transaction()
        try:
            answer = await self._driver.run(sql, params)
            if not joined and self._driver.in_transaction():
                await self._driver.commit()
        except BaseException:
            if not joined:
                await runtime.shielded(retreat(self._driver))
            raise
        return answer

    def _missing(self, key: Any) -> LookupError:
        return LookupError(f"no row of '{self._name}' has the key {key!r}: a row fence needs one to hold its mark")
