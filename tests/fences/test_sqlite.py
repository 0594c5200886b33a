"""What is particular to the fence in a SQLite database: the user's transactions, modes and errors."""

import sqlite3
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fencepost.errors import FencepostError, Refused, Stale
from fencepost.fences import SqliteFence
from tests.support.fences.place import SqlitePlace, interrupted

pytestmark = pytest.mark.unit

MODES: dict[str, dict[str, Any]] = {
    "default": {},
    "isolation_level None": {"isolation_level": None},
    "isolation_level IMMEDIATE": {"isolation_level": "IMMEDIATE"},
    "isolation_level EXCLUSIVE": {"isolation_level": "EXCLUSIVE"},
}
if sys.version_info >= (3, 12):
    MODES["autocommit True"] = {"autocommit": True}
    MODES["autocommit False"] = {"autocommit": False}


@pytest.fixture
def place(tmp_path: Path) -> Iterator[SqlitePlace]:
    place = SqlitePlace(tmp_path)
    place.connect().execute("CREATE TABLE t (x INTEGER UNIQUE)")
    yield place
    place.close()


def look(place: SqlitePlace) -> list[int]:
    """What has been committed, as another connection sees it."""
    return [x for (x,) in place.connect().execute("SELECT x FROM t ORDER BY x")]


def mark(place: SqlitePlace, name: str = "a") -> int:
    return SqliteFence(place.connect()).highest(name)


def insert(connection: sqlite3.Connection, *values: int) -> None:
    for value in values:
        connection.execute("INSERT INTO t VALUES (?)", (value,))


# The connections users have


@pytest.mark.parametrize("mode", MODES)
def test_a_guard_works_in_every_transaction_mode(place: SqlitePlace, mode: str) -> None:
    connection = place.connect(**MODES[mode])
    fence, joins = SqliteFence(connection), connection.in_transaction
    with fence.guard("a", 5) as guarded:
        assert guarded is connection
        insert(guarded, 1, 2)
    assert connection.in_transaction == joins
    if joins:
        assert look(place) == []
        connection.commit()
    with interrupted(fence.guard("a", 6)):
        insert(connection, 3)
    with pytest.raises(Stale), fence.guard("a", 4):
        pass
    if joins:
        connection.commit()
    assert (look(place), mark(place)) == ([1, 2], 6)


def surprising_row(cursor: sqlite3.Cursor, row: tuple[Any, ...]) -> None:
    raise AssertionError("the fence must not use the user's row factory")


class SurprisingConnection(sqlite3.Connection):
    def cursor(self, *arguments: Any, **options: Any) -> Any:
        raise AssertionError("the fence must not use the user's cursors")

    def execute(self, *arguments: Any, **options: Any) -> Any:
        raise AssertionError("the fence must not use the user's methods")


def test_row_and_text_factories_of_the_user_stay_out_of_it(place: SqlitePlace) -> None:
    connection = place.connect()
    connection.row_factory, connection.text_factory = surprising_row, bytes
    SqliteFence(connection).claim("a", 5)
    assert SqliteFence(connection).highest("a") == 5


def test_a_connection_class_of_the_user_stays_out_of_it(place: SqlitePlace) -> None:
    connection = place.connect(factory=SurprisingConnection)
    SqliteFence(connection).claim("a", 5)
    assert SqliteFence(connection).highest("a") == 5


def test_converters_of_the_user_stay_out_of_it(place: SqlitePlace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "converters", dict(sqlite3.converters))
    sqlite3.register_converter("INTEGER", lambda data: -1)
    try:
        connection = place.connect(detect_types=sqlite3.PARSE_DECLTYPES)
        SqliteFence(connection).claim("a", 5)
        assert SqliteFence(connection).highest("a") == 5
    finally:
        sqlite3.register_converter("INTEGER", int)


def test_a_temporary_table_of_the_same_name_does_not_hide_the_marks(place: SqlitePlace) -> None:
    connection = place.connect()
    SqliteFence(connection).claim("a", 5)
    connection.execute("CREATE TEMP TABLE fencepost_fence (name TEXT PRIMARY KEY, token INTEGER)")
    with pytest.raises(Stale):
        SqliteFence(connection).claim("a", 4)
    assert SqliteFence(connection).highest("a") == 5


def test_what_is_not_a_connection_is_refused_at_once() -> None:
    with pytest.raises(TypeError, match=r"takes a sqlite3\.Connection, not str"):
        SqliteFence("place.db")  # type: ignore[arg-type]


def test_making_a_fence_and_asking_for_a_mark_write_nothing(place: SqlitePlace) -> None:
    connection = place.connect()
    assert SqliteFence(connection).highest("a") == 0
    assert not connection.in_transaction
    assert connection.execute("SELECT name FROM sqlite_master WHERE name LIKE 'fence%'").fetchall() == []


# One transaction


def test_others_see_the_mark_and_the_writes_together(place: SqlitePlace) -> None:
    place.connect().execute("PRAGMA journal_mode = WAL")
    with SqliteFence(place.connect()).guard("a", 5) as connection:
        insert(connection, 1)
        assert (look(place), mark(place)) == ([], 0)
    assert (look(place), mark(place)) == ([1], 5)


def test_a_commit_that_is_refused_undoes_the_writes_and_keeps_the_claim(place: SqlitePlace) -> None:
    connection = place.connect()
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("CREATE TABLE child (x REFERENCES t (x) DEFERRABLE INITIALLY DEFERRED)")
    fence = SqliteFence(connection)
    with pytest.raises(sqlite3.IntegrityError), fence.guard("a", 5):
        connection.execute("INSERT INTO child VALUES (99)")
    assert not connection.in_transaction
    assert connection.execute("SELECT * FROM child").fetchall() == []
    assert mark(place) == 5


def test_a_transaction_that_sqlite_dropped_surfaces_its_own_error(place: SqlitePlace) -> None:
    connection = place.connect()
    insert(connection, 1)
    connection.commit()
    fence = SqliteFence(connection)
    with pytest.raises(sqlite3.IntegrityError), fence.guard("a", 5):
        connection.execute("INSERT OR ROLLBACK INTO t VALUES (2), (1)")
    assert not connection.in_transaction
    assert look(place) == [1]
    with fence.guard("a", 5):
        insert(connection, 3)
    assert look(place) == [1, 3]


ENDINGS: dict[str, Callable[[sqlite3.Connection], object]] = {
    "commit": lambda connection: connection.commit(),
    "rollback": lambda connection: connection.rollback(),
    "executescript": lambda connection: connection.executescript("SELECT 1"),
    "with connection": lambda connection: connection.__exit__(None, None, None),
}


@pytest.mark.parametrize("mode", ["default", "isolation_level None"])
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_block_that_ends_its_transaction_is_told_so(place: SqlitePlace, mode: str, ending: str) -> None:
    connection = place.connect(**MODES[mode])
    fence = SqliteFence(connection)
    with pytest.raises(FencepostError, match="guarding 'a' ended its transaction"), fence.guard("a", 5):
        ENDINGS[ending](connection)
    assert not connection.in_transaction
    fence.claim("a", 6)
    assert mark(place) == 6


@pytest.mark.parametrize("joined", [False, True])
def test_writes_after_the_block_ended_its_transaction_are_rolled_back(place: SqlitePlace, joined: bool) -> None:
    connection = place.connect()
    if joined:
        insert(connection, 0)

    def block() -> None:
        insert(connection, 1)
        connection.commit()
        insert(connection, 2)

    with pytest.raises(FencepostError), SqliteFence(connection).guard("a", 5):
        block()
    assert not connection.in_transaction
    assert look(place) == ([0, 1] if joined else [1])


def test_statements_that_return_rows_can_be_used_in_a_guard(place: SqlitePlace) -> None:
    connection = place.connect()
    with SqliteFence(connection).guard("a", 5):
        assert connection.execute("INSERT INTO t VALUES (7) RETURNING x").fetchone() == (7,)
        unfinished = connection.execute("SELECT x FROM t")
    assert look(place) == [7]
    unfinished.close()


# A transaction of the user


def test_a_guard_joins_an_open_transaction_and_leaves_the_commit_to_it(place: SqlitePlace) -> None:
    connection = place.connect()
    insert(connection, 1)
    with SqliteFence(connection).guard("a", 5):
        insert(connection, 2)
    assert connection.in_transaction
    assert (look(place), mark(place)) == ([], 0)
    insert(connection, 3)
    connection.commit()
    assert (look(place), mark(place)) == ([1, 2, 3], 5)


def test_rolling_back_the_users_transaction_takes_the_mark_with_the_writes(place: SqlitePlace) -> None:
    connection = place.connect()
    insert(connection, 1)
    fence = SqliteFence(connection)
    with fence.guard("a", 5):
        insert(connection, 2)
    connection.rollback()
    assert (look(place), mark(place)) == ([], 0)
    fence.claim("a", 5)
    assert mark(place) == 5


def test_a_claim_that_was_rolled_back_does_not_come_back_with_a_later_guard(place: SqlitePlace) -> None:
    connection = place.connect()
    insert(connection, 1)
    fence = SqliteFence(connection)
    fence.claim("a", 5)
    connection.rollback()
    with interrupted(fence.guard("b", 7)):
        pass
    assert (mark(place, "a"), mark(place, "b")) == (0, 7)


def test_a_raising_block_in_an_open_transaction_undoes_only_its_own_writes(place: SqlitePlace) -> None:
    connection = place.connect()
    insert(connection, 1)
    with interrupted(SqliteFence(connection).guard("a", 5)):
        insert(connection, 2)
    connection.commit()
    assert (look(place), mark(place)) == ([1], 5)


def test_a_stale_token_in_an_open_transaction_leaves_the_transaction_to_the_user(place: SqlitePlace) -> None:
    SqliteFence(place.connect()).claim("a", 5)
    connection = place.connect()
    insert(connection, 1)
    with pytest.raises(Stale):
        SqliteFence(connection).claim("a", 4)
    assert connection.in_transaction
    connection.commit()
    assert (look(place), mark(place)) == ([1], 5)


def test_nobody_comes_between_a_joined_guard_and_the_users_commit(place: SqlitePlace) -> None:
    place.connect().execute("PRAGMA journal_mode = WAL")
    SqliteFence(place.connect()).claim("a", 5)
    connection = place.connect(isolation_level=None)
    connection.execute("BEGIN")
    SqliteFence(connection).claim("a", 5)  # raises no mark, and keeps others out all the same
    with pytest.raises(sqlite3.OperationalError, match="database is locked"):
        SqliteFence(place.connect(timeout=0)).claim("a", 6)
    connection.execute("COMMIT")
    SqliteFence(place.connect()).claim("a", 6)


def test_joining_a_transaction_that_has_not_read_waits_its_turn_and_does_not_fail(place: SqlitePlace) -> None:
    place.connect().execute("PRAGMA journal_mode = WAL")
    SqliteFence(place.connect()).claim("a", 1)
    rival = place.connect(isolation_level=None)
    rival.execute("BEGIN IMMEDIATE")
    insert(rival, 1)
    connection = place.connect(isolation_level=None)
    connection.execute("BEGIN")

    def commit_just_before_the_claim(statement: str) -> None:
        if statement.startswith("INSERT INTO main.fencepost_fence"):
            connection.set_trace_callback(None)
            rival.execute("COMMIT")

    connection.set_trace_callback(commit_just_before_the_claim)
    SqliteFence(connection).claim("a", 2)
    connection.execute("COMMIT")
    assert (look(place), mark(place)) == ([1], 2)


# Errors


def test_a_busy_database_raises_what_sqlite3_raises_and_leaves_no_transaction(place: SqlitePlace) -> None:
    rival = place.connect(isolation_level=None)
    rival.execute("BEGIN IMMEDIATE")
    connection = place.connect(timeout=0)
    with pytest.raises(sqlite3.OperationalError) as busy:
        SqliteFence(connection).claim("a", 5)
    assert busy.value.sqlite_errorcode == sqlite3.SQLITE_BUSY
    assert not connection.in_transaction
    rival.execute("COMMIT")
    SqliteFence(connection).claim("a", 5)


@pytest.mark.parametrize("marked", [False, True])
def test_a_read_only_database_is_named_as_the_reason(place: SqlitePlace, marked: bool) -> None:
    if marked:
        SqliteFence(place.connect()).claim("a", 3)
    connection = sqlite3.connect(f"file:{place.path}?mode=ro", uri=True)
    fence = SqliteFence(connection)
    assert fence.highest("a") == (3 if marked else 0)
    with pytest.raises(sqlite3.OperationalError, match="readonly database") as refusal:
        fence.claim("a", 5)
    assert any("keeps its marks in table 'fencepost_fence'" in note for note in refusal.value.__notes__)
    assert not connection.in_transaction
    connection.close()


def test_a_closed_connection_says_so(place: SqlitePlace) -> None:
    connection = place.connect()
    fence = SqliteFence(connection)
    connection.close()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        fence.claim("a", 5)


@pytest.mark.parametrize("joined", [False, True])
@pytest.mark.parametrize("mark", ["x", "", b"5", 1.5, -5])
def test_a_mark_that_is_no_token_is_refused_and_left_alone(place: SqlitePlace, mark: object, joined: bool) -> None:
    connection = place.connect()
    fence = SqliteFence(connection)
    fence.install()
    connection.execute("INSERT INTO fencepost_fence VALUES ('a', ?)", [mark])
    connection.commit()
    if joined:
        connection.execute("INSERT INTO t VALUES (1)")
    with pytest.raises(Refused, match="the mark of 'a' is no token"):
        fence.claim("a", 7)
    connection.rollback()
    with pytest.raises(Refused, match="the mark of 'a' is no token"):
        fence.highest("a")
    assert place.connect().execute("SELECT token FROM fencepost_fence").fetchall() == [(mark,)]
