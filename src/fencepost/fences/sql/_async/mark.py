# Written by hand; the blocking twin under _sync is generated from it.
"""The marks in the table: how a token is shown, in each kind of database."""

from secrets import token_hex
from typing import Any

from fencepost._runtime import aio as runtime
from fencepost.core.token import LARGEST
from fencepost.errors import FencepostError, Refused, Stale
from fencepost.fences.protocol import check, mark_of
from fencepost.fences.sql._async.retreat import retreat
from fencepost.fences.sql.dialect import MOST_BYTES, MYSQL, literal, mark_in, row_key
from fencepost.fences.sql.driver import aio as driver
from fencepost.fences.sql.statement import Answer

ISOLATION = "SHOW VARIABLES WHERE Variable_name IN ('tx_isolation', 'transaction_isolation')"
# That one is of the session, and a transaction may have a level of its own. The server tells from a copy, which it
# renews only when nobody has asked for a tenth of a second: what holds this very question is of now.
OF_THIS_ONE = """SELECT trx_isolation_level FROM information_schema.innodb_trx
WHERE trx_mysql_thread_id = connection_id() AND locate('{question}', trx_query) > 0"""
SQLITE_READONLY = 8
AGAIN = "fencepost_again"


class AsyncMark:
    """Shows tokens, through the caller's connection. Transactions are begun here and ended by the fence."""

    def __init__(self, connection: driver.Driver) -> None:
        self._driver = connection
        self._dialect = connection.dialect
        self._claim = self._dialect.statement("claim")
        # Until it turns out that this user is not told of transactions.
        self._is_told = True

    async def install(self) -> None:
        joined = self._driver.in_transaction()
        if joined and self._dialect is MYSQL:
            raise FencepostError("making a table would commit your transaction: call install() before you begin it")
        try:
            if not joined:
                await self._driver.begin()
            await self._driver.script(*await self._schema())
            if not joined:
                await self._driver.commit()
        except BaseException as error:
            if not joined:
                await runtime.shielded(retreat(self._driver))
            _explain(error)
            raise

    async def _schema(self) -> list[str]:
        ((schema,),) = (await self._driver.run(self._dialect.where, {})).rows if self._dialect.where else (("",),)
        statements = [self._dialect.statement(each).replace("{schema}", schema) for each in self._dialect.schema]
        return [each.replace("{most_bytes}", str(MOST_BYTES)) for each in statements]

    async def enter(self, name: str, token: int, *, joined: bool, place: int) -> None:
        """Begin a transaction, or join the one there is; claim; mark the place to go back to."""
        if joined and place == 0 and self._dialect is MYSQL:
            await self._check_isolation()
        try:
            await self._enter(name, token, joined, place)
        except BaseException as error:
            if not self._dialect.is_no_table(error):
                raise
            await self.install()
            await self._enter(name, token, joined, place)

    async def behind(self, name: str, token: int, sql: str, params: Any) -> Answer:
        """Claim and run `sql`, in a transaction of their own."""
        try:
            return await self._behind(name, token, sql, params)
        except BaseException as error:
            if not self._dialect.is_no_table(error):
                raise
            await self.install()
            return await self._behind(name, token, sql, params)

    async def within(self, name: str, token: int, sql: str, params: Any, place: int) -> Answer | None:
        """The same in the open transaction, in one round trip; None, and nothing done, where that can not be."""
        if not self._dialect.raises:
            return None
        outer = f"SAVEPOINT fencepost_claim_{place}"
        try:
            return await self._driver.piped(
                self._claim, self._values(name, token), sql, params, outer, f"RELEASE {outer}"
            )
        except BaseException as error:
            await runtime.shielded(self._back_out(True, place))
            self._tell(name, token, error)
            if not self._dialect.is_no_table(error):
                raise
            # A guard makes the table first.
            return None

    async def renew(self, claims: list[tuple[str, int]]) -> None:
        """Show again what a roll-back has undone, while nobody could come between."""
        for name, token in claims:
            await self._driver.run(self._claim, self._values(name, token))

    async def back_to(self, savepoint: str, claims: list[tuple[str, int]]) -> list[tuple[str, int]]:
        """Undo what came after, and these claims of it; those that are still to be shown again.

        In PostgreSQL the roll-back lets go of their rows, so they are shown again in the same message. All the same
        somebody who waits for one may be quicker than the next statement.
        """
        undo = f"ROLLBACK TO SAVEPOINT {savepoint}"
        if not self._dialect.raises or not claims:
            await self._driver.script(undo)
            return claims
        renewal = self._dialect.statement("renew")
        again = [literal(renewal, row_key(name), token) for name, token in claims]
        try:
            await self._driver.script(undo, f"SAVEPOINT {AGAIN}", *again, f"RELEASE SAVEPOINT {AGAIN}")
        except Exception:
            # Whoever came between may wait for us in turn. A deadlock is no reason to lose the outer claim.
            await self._driver.script(f"ROLLBACK TO SAVEPOINT {AGAIN}")
            return claims
        return []

    async def show_again(self, name: str, token: int) -> None:
        """Show again what a roll-back has undone. Somebody newer may have come: then older ones are out anyway."""
        joined = self._driver.in_transaction()
        try:
            await self.enter(name, token, joined=joined, place=LARGEST)
        except Stale:
            return
        if joined:
            await self._driver.script(f"RELEASE SAVEPOINT fencepost_claim_{LARGEST}")
        else:
            await self._driver.commit()

    async def highest(self, name: str) -> int:
        ((exists,),) = (await self._driver.run(self._dialect.statement("exists"), {})).rows
        return await self._highest(name) if exists else 0

    async def _enter(self, name: str, token: int, joined: bool, place: int) -> None:
        outer, inner = f"SAVEPOINT fencepost_claim_{place}", f"SAVEPOINT fencepost_body_{place}"
        try:
            if self._dialect.raises:
                self._driver.check_open()
                claim = literal(self._claim, row_key(name), token)
                await (self._driver.script(outer, claim, inner) if joined else self._driver.begin(claim, inner))
                return
            if not joined:
                await self._driver.begin()
            self._driver.check_open()
            await self._show(name, token, joined=joined)
            if joined and not self._driver.in_transaction():
                # MySQL tells with the claim. An error does not tell that it has ended the transaction.
                raise FencepostError(f"the transaction that the guard of '{name}' joins is over: roll back, begin anew")
            # Two: releasing the inner one proves that the block did not end the transaction, while the outer one
            # is still there to go back to if the commit is refused.
            await self._driver.script(outer, inner)
        except BaseException as error:
            await runtime.shielded(self._back_out(joined, place))
            self._tell(name, token, error)
            raise

    async def _behind(self, name: str, token: int, sql: str, params: Any) -> Answer:
        try:
            if self._dialect.raises:
                self._driver.check_open()
                answer = await self._driver.piped(self._claim, self._values(name, token), sql, params)
                if answer is not None:
                    return answer
                await self._driver.begin(literal(self._claim, row_key(name), token))
            else:
                await self._driver.begin()
                self._driver.check_open()
                await self._show(name, token)
            answer = await self._driver.raw(sql, params)
            await self._driver.commit()
            return answer
        except BaseException as error:
            try:
                await runtime.shielded(retreat(self._driver))
            finally:
                # A signal handler may have raised before it was rolled back.
                if self._driver.in_transaction():
                    await runtime.shielded(retreat(self._driver))
            self._tell(name, token, error)
            raise

    async def _show(self, name: str, token: int, *, joined: bool = False) -> None:
        if self._driver.alone and not joined:
            # Nobody can come between, so a mark that is there need not be written again.
            if check(name, token, mark := await self._highest(name)) > mark:
                await self._driver.run(self._claim, self._values(name, token))
            return
        # The first statement of the transaction must be this write, which takes the write lock even where it
        # changes nothing. Had the transaction read before, another's commit in between would fail it.
        answer = await self._driver.run(self._claim, self._values(name, token))
        check(name, token, _told(name, answer) if self._dialect is MYSQL else await self._highest(name))

    async def _highest(self, name: str) -> int:
        key = {"name": self._values(name, 0)["name"]}
        ((token,),) = (await self._driver.run(self._dialect.statement("highest"), key)).rows
        return mark_of(name, token)

    async def _back_out(self, joined: bool, place: int) -> None:
        if not joined:
            await retreat(self._driver)
            return
        try:
            if self._dialect.raises:
                outer = f"SAVEPOINT fencepost_claim_{place}"
                await self._driver.script(f"ROLLBACK TO {outer}", f"RELEASE {outer}")
        except Exception:
            # The connection is gone, or the transaction was broken before: the first error says more.
            pass

    async def _check_isolation(self) -> None:
        levels = [level for _, level in (await self._driver.run(ISOLATION, {})).rows]
        if "REPEATABLE-READ" in levels or "REPEATABLE READ" in await self._own_levels():
            raise FencepostError(
                "a guard can not join a transaction at REPEATABLE READ, whose reads may be older than the claim: "
                "begin with the guard, or use READ COMMITTED"
            )

    async def _own_levels(self) -> list[str]:
        """The level of this very transaction, if the server tells it."""
        if not self._is_told:
            return []
        try:
            answer = await self._driver.run(OF_THIS_ONE.replace("{question}", token_hex(8)), {})
        except Exception as error:
            if not self._dialect.is_denied(error):
                raise
            self._is_told = False
            return []
        return [level for (level,) in answer.rows]

    def _values(self, name: str, token: int) -> dict[str, Any]:
        key = row_key(name)
        return {"name": key.encode() if self._dialect is MYSQL else key, "token": token}

    def _tell(self, name: str, token: int, error: BaseException) -> None:
        """Raise what the error stands for, if it is a refusal."""
        _explain(error)
        mark = mark_in(error) if self._dialect.raises else None
        if mark is not None:
            raise Stale(name, token, mark) from None


def _told(name: str, answer: Answer) -> int:
    """The mark that came back with a claim in MySQL. It is never 0: without it every token would pass."""
    if not answer.rowid:
        raise Refused(f"this connection does not tell the mark of '{name}': use one of PyMySQL")
    return answer.rowid


def _explain(error: BaseException) -> None:
    if getattr(error, "sqlite_errorcode", 0) & 0xFF == SQLITE_READONLY:
        error.add_note("the fence keeps its marks in table 'fencepost_fence' of this database")
