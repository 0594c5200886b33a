# Generated from src/fencepost/fences/sql/_async/fence.py by tools/unasync.py. Do not edit: run `make gen`.
"""The fence that lives in the database it protects."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fencepost._runtime import threads as runtime
from fencepost._runtime import fork
from fencepost.core.name import check_name
from fencepost.errors import FencepostError
from fencepost.fences.protocol import Tokened, check_process, token_of
from fencepost.fences.sql._sync.mark import Mark
from fencepost.fences.sql.driver import threads as driver
from fencepost.fences.sql.statement import Answer


class SqlFence:
    """Guards what is in the database of `connection`; the marks are rows of its table `fencepost_fence`.

    `with fence.guard(name, grant) as connection:` begins a transaction, claims, runs the block and commits.
    Nobody else can claim this name before the block ends (in SQLite: write anything). If the block raises, its
    writes are rolled back and the claim is committed: the block may have read, and an older holder must not write
    after that. The connection may be in any transaction mode and make any kind of rows.

    Where a transaction is open already, the guard joins it and commits nothing: mark and writes become final when
    the caller commits, and until then nobody comes between. If the block raises, only its own writes are undone. If
    the caller rolls back, the claim is gone too: what was read in that transaction must be read again.

    In PostgreSQL a claim also satisfies the triggers of `fencepost fence install`.

    Limits. The block leaves commit and rollback alone; ending the transaction inside it raises. The claim is also
    gone if the process dies inside the block, or the database drops the transaction (a deadlock, a lost connection,
    a serialization failure): let that error leave the block, since what it writes after that may be committed at once,
    and is not fenced. In PostgreSQL, where an outer block raises, the claims of guards within it are free for an
    instant before they are shown again: what was read under those must be read again, unless their tokens were
    claimed before the outer guard began. One thread or task at a time uses a connection, and one fence serves a
    connection. Under MySQL's REPEATABLE READ plain reads see what was there at the first of them: enter all guards
    before you read; joining a transaction at that level is refused, as far as the server tells its level. Errors of
    the database come unchanged.
    """

    def __init__(self, connection: Any) -> None:
        self._driver = driver.adapt(connection)
        self._mark = Mark(self._driver)
        # What is claimed in the transaction that a guard of ours began or joined.
        self._claims: list[tuple[str, int]] = []

    def install(self) -> None:
        """Make the table of marks, if it is not there. The first claim does it too, where it may."""
        self._mark.install()

    def claim(self, name: str, grant: Tokened | int) -> None:
        """Show the token and commit the mark; inside an open transaction, leave the commit to the caller."""
        with self.guard(name, grant):
            pass

    @contextmanager
    def guard(self, name: str, grant: Tokened | int) -> "Iterator[Any]":
        check_name(name)
        token, place, born = token_of(grant), len(self._claims), fork.current
        joined = self._driver.in_transaction()
        try:
            self._mark.enter(name, token, joined=joined, place=place)
            self._claims.append((name, token))
            try:
                yield self._driver.connection
                check_process(born)
                self._leave(name, joined, place)
            except BaseException:
                if fork.current == born:
                    runtime.shielded(self._undo(joined, place))
                raise
        except BaseException:
            if fork.current == born and not joined and self._driver.in_transaction():
                runtime.shielded(self._driver.rollback())
            raise
        finally:
            if place == 0:
                self._claims.clear()

    def execute(self, name: str, grant: Tokened | int, sql: str, params: Any = ()) -> Answer:
        """Claim, and run one statement of the caller's, in the style of its own library: what it gave.

        One statement more than without a fence, and in an open transaction a savepoint; with psycopg, in the same round
        trip. If the statement fails, so does the claim.
        """
        check_name(name)
        token = token_of(grant)
        if not self._driver.in_transaction():
            return self._mark.behind(name, token, sql, params)
        answer = self._mark.within(name, token, sql, params, len(self._claims))
        if answer is None:
            with self.guard(name, grant):
                return self._driver.raw(sql, params)
        if self._claims:
            self._claims.append((name, token))
        return answer

    def highest(self, name: str) -> int:
        """The mark of `name`, 0 if no token was ever accepted. For people and tests; it decides nothing."""
        check_name(name)
        joined = self._driver.in_transaction()
        try:
            return self._mark.highest(name)
        finally:
            if not joined and self._driver.in_transaction():
                self._driver.rollback()

    def _leave(self, name: str, joined: bool, place: int) -> None:
        body = f"RELEASE SAVEPOINT fencepost_body_{place}"
        try:
            if joined:
                self._driver.script(body, f"RELEASE SAVEPOINT fencepost_claim_{place}")
            else:
                self._driver.commit(*self._driver.dialect.settle, body)
        except Exception as error:
            if not self._driver.dialect.is_no_savepoint(error):
                raise
            raise FencepostError(
                f"the block guarding '{name}' ended its transaction: leave commit and rollback to the guard"
            ) from error

    def _undo(self, joined: bool, place: int) -> None:
        """Undo what the block wrote and keep what it claimed, guards within it included."""
        dialect = self._driver.dialect
        kept = f"fencepost_{'body' if dialect.raises else 'claim'}_{place}"
        # They stay in the list: a guard around this one may raise as well, and undo them again.
        within = self._claims[place + 1 :]
        try:
            late = self._mark.back_to(kept, within)
        except Exception:
            # The block or the database has ended the transaction: whatever came after that was not guarded.
            if self._driver.in_transaction():
                self._driver.rollback()
            return
        if not dialect.raises:
            self._mark.renew(late)
        if joined:
            self._driver.script(f"RELEASE SAVEPOINT fencepost_claim_{place}")
        else:
            self._driver.commit()
        if dialect.raises:
            # A refusal would end the transaction, so these come after it.
            for name, token in late:
                self._mark.show_again(name, token)
