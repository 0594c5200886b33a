"""The fence that lives in the database it protects."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.resources import files

from fencepost.core.name import check_name
from fencepost.errors import FencepostError
from fencepost.fences.protocol import Tokened, check, token_of

_SQL = files(__package__)
SCHEMA = _SQL.joinpath("schema.sql").read_text()
EXISTS = _SQL.joinpath("exists.sql").read_text()
CLAIM = _SQL.joinpath("claim.sql").read_text()
HIGHEST = _SQL.joinpath("highest.sql").read_text()

Execute = Callable[..., sqlite3.Cursor]


class SqliteFence:
    """Guards what is in the database of `connection`; the marks are rows of its table `fencepost_fence`.

    `with fence.guard(name, grant) as connection:` begins an immediate transaction, claims, runs the block
    and commits. No other connection can claim or write before the block ends. If the block raises, its
    writes are rolled back and the claim is committed: the block may have read, and an older holder must
    not write after that. The connection may be in any transaction mode and have any row factory.

    Where a transaction is open already (with `autocommit=False` there always is one), the guard joins it
    and commits nothing: mark and writes become final when the caller commits, and until then the caller
    keeps the write lock, so nobody comes between. If the block raises, only its own writes are undone. If
    the caller rolls back, the claim is gone too: what was read in that transaction must be read again.

    Limits. The block leaves `commit`, `rollback` and `executescript` alone; ending the transaction inside
    it raises. The claim is also gone if the process dies inside the block or SQLite drops the transaction
    (disk full, OR ROLLBACK). One thread at a time uses a connection, and one fence serves a connection.
    Tables of attached databases are guarded too, but after a power cut in WAL mode may disagree with the
    mark. The connection's `timeout` says how long to wait for other writers; sqlite3's errors come unchanged.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        if not isinstance(connection, sqlite3.Connection):
            raise TypeError(f"a SQLite fence takes a sqlite3.Connection, not {type(connection).__name__}")
        self._connection = connection
        self._claimed: dict[str, int] = {}

    def claim(self, name: str, grant: Tokened | int) -> None:
        """Show the token and commit the mark; inside an open transaction, leave the commit to the caller."""
        with self.guard(name, grant):
            pass

    @contextmanager
    def guard(self, name: str, grant: Tokened | int) -> Iterator[sqlite3.Connection]:
        check_name(name)
        token = token_of(grant)
        connection, joined, outermost = self._connection, self._connection.in_transaction, not self._claimed
        execute, end = self._execute(), "RELEASE fencepost_claim" if joined else "COMMIT"
        try:
            if not joined:
                execute("BEGIN IMMEDIATE")
            self._show(execute, name, token)
            # Two savepoints: releasing the inner one proves that the block did not end the transaction,
            # while the outer one is still there to go back to if the commit is refused.
            execute("SAVEPOINT fencepost_claim")
            try:
                execute("SAVEPOINT fencepost_body")
                yield connection
                _release_body(execute, name)
                execute(end)
            except BaseException:
                if self._undo(execute):
                    execute(end)
                raise
        except BaseException:
            if not joined and connection.in_transaction:
                execute("ROLLBACK")
            raise
        finally:
            if outermost:
                self._claimed.clear()

    def highest(self, name: str) -> int:
        check_name(name)
        execute = self._execute()
        (exists,) = execute(EXISTS).fetchone()
        return _highest(execute, name) if exists else 0

    def _execute(self) -> Execute:
        # Not connection.cursor(), which passes on the user's row factory or may be the user's own method.
        return sqlite3.Cursor(self._connection).execute

    def _show(self, execute: Execute, name: str, token: int) -> None:
        try:
            _raise_mark(execute, name, token)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_READONLY:
                error.add_note("the fence keeps its marks in table 'fencepost_fence' of this database")
            raise
        check(name, token, _highest(execute, name))
        self._claimed[name] = token

    def _undo(self, execute: Execute) -> bool:
        """Undo what the block wrote and keep what it claimed, guards within it included."""
        try:
            execute("ROLLBACK TO fencepost_claim")
        except sqlite3.OperationalError:
            # The block or SQLite has ended the transaction: whatever came after that was not guarded.
            if self._connection.in_transaction:
                execute("ROLLBACK")
            return False
        for name, token in self._claimed.items():
            _raise_mark(execute, name, token)
        return True


def _raise_mark(execute: Execute, name: str, token: int) -> None:
    # The first statement of the transaction must be this write, which takes the write lock even where it
    # changes nothing. Had the transaction read before, another's commit in between would fail it.
    claim = {"name": name, "token": token}
    try:
        execute(CLAIM, claim)
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_ERROR:
            raise
        execute(SCHEMA)
        execute(CLAIM, claim)


def _highest(execute: Execute, name: str) -> int:
    (token,) = execute(HIGHEST, {"name": name}).fetchone()
    return int(token)


def _release_body(execute: Execute, name: str) -> None:
    try:
        execute("RELEASE fencepost_body")
    except sqlite3.OperationalError as error:
        if "no such savepoint" not in str(error):
            raise
        raise FencepostError(
            f"the block guarding '{name}' ended its transaction: leave commit and rollback to the guard"
        ) from error
