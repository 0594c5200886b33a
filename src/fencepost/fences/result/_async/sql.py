# Written by hand; the blocking twin under _sync is generated from it.
"""Results in a table of a SQL database."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fencepost._runtime import aio as runtime
from fencepost._runtime import fork
from fencepost.core.name import check_name
from fencepost.errors import FencepostError, Stale
from fencepost.fences.protocol import Tokened, check, check_process, mark_of, token_of
from fencepost.fences.result.lifetime import MARK_OUTLIVES, check_result
from fencepost.fences.result.undivided import undivided
from fencepost.fences.sql._async.retreat import retreat
from fencepost.fences.sql.dialect import MYSQL, row_key
from fencepost.fences.sql.driver import aio as driver
from fencepost.fences.sql.statement import Answer

# By the clock of the database: the same for all that ask it.
NOW = {
    "sqlite": "((julianday('now') - 2440587.5) * 86400.0)",
    "postgresql": "extract(epoch FROM clock_timestamp())",
    "mysql": "unix_timestamp(now(6))",
}
FIND = "SELECT token, CASE WHEN expires_at <= {now} THEN NULL ELSE value END FROM fencepost_result WHERE name = :name"
# A sum with NULL is NULL: what never expires is never forgotten.
KEEP = """
UPDATE fencepost_result
SET token = :token, value = :value, expires_at = {now} + {expires_in}, forget_at = {now} + {expires_in} + :memory
WHERE name = :name AND token <= :token
"""
# Whoever ends the transaction of some work ends this, too.
WORK = "SAVEPOINT fencepost_work"
FORGET = "DELETE FROM fencepost_result WHERE forget_at < {now}"


class AsyncSqlResults:
    """Results in table `fencepost_result`, through a connection that a SQL fence takes.

    With `together=True` the work and its result are one transaction: work that writes through the same connection is
    undone if it fails, or if its worker was overtaken. The connection must be idle when the work begins, and the
    work leaves commit and rollback alone: ending the transaction raises, and the result is not kept.
    """

    def __init__(self, connection: Any, *, together: bool = False) -> None:
        self._driver = driver.adapt(connection)
        self._together = together
        self._working = False
        self._now = NOW[self._driver.dialect.name]

    async def find(self, name: str) -> str | None:
        return (await self._row(check_name(name)))[1]

    async def claim(self, name: str, grant: Tokened | int) -> str | None:
        token = token_of(grant)
        claim = self._driver.dialect.statement("result_claim")
        await self._run(claim, self._key(check_name(name)) | {"token": token, "memory": MARK_OUTLIVES})
        mark, value = await self._row(name, current=True)
        check(name, token, mark)
        return value

    async def keep(self, name: str, grant: Tokened | int, value: str, expires_in: float | None) -> None:
        lasting = check_result(value, expires_in)
        token = token_of(grant)
        if self._working:
            # Before it is kept: else the result of what was rolled back would stand.
            with undivided(self._driver.dialect):
                await self._driver.script(f"RELEASE {WORK}", WORK)
        params = {"token": token, "value": value, "memory": MARK_OUTLIVES}
        # As text, since it is a number or NULL: drivers disagree on the type of a parameter that may be either.
        sql = KEEP.replace("{expires_in}", "NULL" if lasting is None else repr(lasting))
        answer = await self._run(sql, self._key(check_name(name)) | params)
        if answer.changed < 1:
            # None; or the library does not count them, or MySQL one that had these very values already.
            mark, kept = await self._row(name, current=True)
            if mark != token or kept != value:
                raise Stale(name, token, mark)

    async def forget(self) -> int:
        """Delete what expired so long ago that nobody can come back for it: how many. To be called now and then."""
        return (await self._run(FORGET, {})).changed

    @asynccontextmanager
    async def work(self) -> "AsyncIterator[None]":
        if not self._together:
            yield
            return
        if self._driver.in_transaction():
            raise FencepostError("work and result are one transaction, and one is open already: commit it first")
        born = fork.current
        try:
            await self._driver.begin()
            self._driver.check_open()
            await self._driver.script(WORK)
            self._working = True
            yield
            check_process(born)
            with undivided(self._driver.dialect):
                await self._driver.commit(f"RELEASE {WORK}")
        except BaseException:
            try:
                if fork.current == born:
                    await runtime.shielded(retreat(self._driver))
            finally:
                # A signal handler may have raised before it was rolled back.
                if fork.current == born and self._driver.in_transaction():
                    await runtime.shielded(retreat(self._driver))
            raise
        finally:
            self._working = False

    async def _row(self, name: str, *, current: bool = False) -> tuple[int, str | None]:
        """The mark and the result; `current`: also if this transaction's reads are of the past, as MySQL's may be."""
        lock = " FOR UPDATE" if current and self._driver.dialect is MYSQL else ""
        rows = (await self._run(FIND + lock, self._key(name))).rows
        return (mark_of(name, rows[0][0]), rows[0][1]) if rows else (0, None)

    async def _run(self, sql: str, params: dict[str, Any]) -> Answer:
        """Run it, in a transaction of its own unless one is open. The table is made by whoever misses it."""
        joined = self._driver.in_transaction()
        text = sql.replace("{now}", self._now)
        try:
            answer = await self._attempt(text, params, joined)
        except Exception as error:
            if joined or not self._driver.dialect.is_no_table(error):
                raise
            await self._install()
            answer = await self._attempt(text, params, joined)
        return answer

    async def _attempt(self, sql: str, params: dict[str, Any], joined: bool) -> Answer:
        try:
            answer = await self._driver.run(sql, params)
            if not joined and self._driver.in_transaction():
                await self._driver.commit()
            return answer
        except BaseException:
            if not joined:
                await runtime.shielded(retreat(self._driver))
            raise

    async def _install(self) -> None:
        try:
            await self._driver.begin(self._driver.dialect.statement("result_schema"))
            await self._driver.commit()
        except BaseException as error:
            await runtime.shielded(retreat(self._driver))
            if not self._driver.dialect.is_already_there(error):
                raise

    def _key(self, name: str) -> dict[str, Any]:
        key = row_key(name)
        return {"name": key.encode() if self._driver.dialect is MYSQL else key}
