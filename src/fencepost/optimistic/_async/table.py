# Written by hand; the blocking twin under _sync is generated from it.
"""Rows that are changed by compare-and-swap on a version column."""

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fencepost._runtime import aio as runtime
from fencepost.core.backoff import backoff
from fencepost.core.permit import check_count
from fencepost.core.shown import shown
from fencepost.core.version import check_version
from fencepost.errors import Conflict, FencepostError
from fencepost.fences.sql._async.retreat import retreat
from fencepost.fences.sql.driver import aio as driver
from fencepost.fences.sql.statement import Answer, quoted, quoted_all
from fencepost.optimistic.row import Row

FIRST, MOST = 0.002, 0.25
Change = Callable[[Mapping[str, Any]], Mapping[str, Any]]


class AsyncTable:
    """The rows of `table`, each with a `version` column (BIGINT NOT NULL DEFAULT 0) that every change raises by one.

    Nobody waits, nobody holds anything, and nothing is lost: who comes second reads again and tries again. Best where
    two rarely want the same row; where they often do, a lock wastes less work.

    `connection` is one that a SQL fence takes. Limits: every writer of the table must raise the version. Not inside
    an open transaction, which may see the same old row for ever.
    """

    def __init__(
        self, connection: Any, table: str, columns: Sequence[str], *, key: str = "id", version: str = "version"
    ) -> None:
        self._driver = driver.adapt(connection)
        mark = self._driver.dialect.quote
        self._name = table
        self._table, self._key, self._version = (quoted(each, mark) for each in (table, key, version))
        self._columns = quoted_all(columns, mark)

    async def read(self, key: Any) -> Row:
        """The row; `LookupError` if there is none. `Conflict` if the database wants it to be asked again (`40001`)."""
        columns = ", ".join([*self._columns.values(), self._version])
        answer = await self._run(f"SELECT {columns} FROM {self._table} WHERE {self._key} = :key", {"key": key})
        if not answer.rows:
            raise LookupError(f"no row of '{self._name}' has the key {key!r}")
        *values, version = answer.rows[0]
        return Row(dict(zip(self._columns, values, strict=True)), version)

    async def swap(self, key: Any, version: int, values: Mapping[str, Any]) -> bool:
        """Write `values` if the row is still of `version`; whether that was done."""
        self._check_values(values)
        check_version(version, "version")
        names = {column: f"value_{number}" for number, column in enumerate(values)}
        settings = [f"{self._columns[column]} = :{name}" for column, name in names.items()]
        settings.append(f"{self._version} = {self._version} + 1")
        params = {name: values[column] for column, name in names.items()} | {"key": key, "version": version}
        sql = f"UPDATE {self._table} SET {', '.join(settings)} WHERE {self._key} = :key AND {self._version} = :version"
        try:
            return (await self._run(sql, params)).changed == 1
        except Conflict:
            return False

    async def update(self, key: Any, change: Change, *, attempts: int = 10) -> Row:
        """Read, `change`, swap; again, after a pause that grows and is never the same, if somebody was quicker.

        `change` gets the values and returns those to write; it may run several times, so it must do nothing else. If
        it returns an empty mapping, nothing is written. `Conflict` after `attempts` in vain.
        """
        check_count(attempts, "number of attempts")
        if not callable(change):
            raise TypeError(f"change is a function of the values of a row, not {type(change).__name__}")
        for attempt in range(attempts):
            row = await self._try_update(key, change)
            if row is not None:
                return row
            await runtime.sleep(backoff(attempt, random.random(), first=FIRST, most=MOST))
        raise Conflict(f"'{self._name}' row {key!r} was changed by others {attempts} times while we tried: use a lock")

    def _check_values(self, values: Mapping[str, Any]) -> None:
        if not isinstance(values, Mapping):
            raise TypeError(f"values are a mapping of columns to values, not {type(values).__name__}")
        for column in values:
            if column not in self._columns:
                raise ValueError(f"'{self._name}' is used here with {', '.join(self._columns)}, not {shown(column)}")

    async def _try_update(self, key: Any, change: Change) -> Row | None:
        try:
            row = await self.read(key)
        except Conflict:
            return None
        # A copy: what it changed in place would look as if it had been written.
        values = change(dict(row.values))
        if values is None:
            raise TypeError("change returned None: it returns the values to write, or {} to write nothing")
        self._check_values(values)
        if not values:
            return row
        swapped = await self.swap(key, row.version, values)
        return Row({**row.values, **values}, row.version + 1) if swapped else None

    async def _run(self, sql: str, params: dict[str, Any]) -> Answer:
        if self._driver.in_transaction():
            raise FencepostError("reading again needs a transaction of its own, and one is open: commit it first")
        try:
            answer = await self._driver.run(sql, params)
            if self._driver.in_transaction():
                await self._driver.commit()
            return answer
        except BaseException as error:
            await runtime.shielded(retreat(self._driver))
            if self._driver.dialect.is_overtaken(error):
                # Above READ COMMITTED this is how the database tells who comes second.
                raise Conflict(f"somebody else uses the row of '{self._name}' just now: try again") from error
            raise
