"""What other people's code returns and raises, and what their environment and servers say: it may be anything, too."""

import sqlite3
import uuid
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import click
import pytest

import fencepost
from fencepost.cli.exit import usage
from fencepost.core.malformed import Malformed
from fencepost.engines.postgresql.query import texts
from fencepost.errors import Stale
from fencepost.eventlog import EventLog
from fencepost.fences.http import raise_if_stale
from fencepost.fences.result import MemoryResults, SqlResults
from fencepost.fences.sql import RowFence
from fencepost.optimistic import Table
from fencepost.testing.condition import until

pytestmark = pytest.mark.unit


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("not said")


def deep() -> object:
    found: list[object] = []
    for _ in range(100_000):
        found = [found]
    return found


@pytest.fixture
def session() -> Iterator[fencepost.Session]:
    with fencepost.connect(f"memory://{uuid.uuid4().hex}", ttl=300) as session:
        yield session


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE orders (id, total, version INTEGER, fencing_token INTEGER)")
    yield connection
    connection.close()


@pytest.mark.parametrize("make", [deep, object, lambda: {1: {2}}, lambda: b"ab"])
def test_a_result_that_json_can_not_hold_is_named_and_leaves_nothing(
    session: fencepost.Session, make: Callable[[], object]
) -> None:
    once = session.once("a", store=MemoryResults())
    with pytest.raises(TypeError, match="the result of 'once/a' is not what JSON can hold"):
        once.run(make)
    assert not session.names()
    assert once.run(lambda: 1) == 1


def test_events_that_json_can_not_hold_are_named_and_none_is_appended(connection: sqlite3.Connection) -> None:
    log = EventLog(connection)
    log.install()
    with pytest.raises(TypeError, match="one of the events is not what JSON can hold: it is nested too deeply"):
        log.append("a", [1, deep()], expected=0)
    assert log.version("a") == 0
    assert not connection.in_transaction


@pytest.mark.parametrize("key", ["{nobody}", "{}", "{0}", "{a.b}", "{a[b]}", "{a", "a}", "{a!z}", "{a:z}", "{a:{b}}"])
def test_a_key_that_no_argument_fills_in_is_a_value_error(session: fencepost.Session, key: str) -> None:
    with pytest.raises(ValueError, match=r"the key '.*' (can not be filled in|names)"):
        session.once(key, store=MemoryResults())(lambda a: a)("x")
    assert not session.names()


def test_a_key_that_an_argument_makes_too_long_or_empty_is_a_value_error(session: fencepost.Session) -> None:
    @session.once("{a}", store=MemoryResults())
    def once(a: str) -> str:
        return a

    for argument in ("", "x" * 1025, "\0", "\ud800"):
        with pytest.raises(ValueError, match="the key of once-only work"):
            once(argument)
    assert once("x" * 1024) == "x" * 1024


def test_an_error_that_fails_to_say_anything_is_recorded_by_its_kind(session: fencepost.Session) -> None:
    for tick, error, told in (
        (1, Mute(), "Mute"),
        (2, ValueError("a\ud800"), "ValueError: a\\ud800"),
        (3, ValueError("x" * 5000), "ValueError: " + "x" * 988),
    ):
        run = session.job("a").begin(tick)
        assert run is not None
        with pytest.raises(type(error)), run:
            raise error
        last = session.job("a").last()
        assert last is not None
        assert (last.state, last.error) == ("failed", told)


def test_a_health_check_that_fails_to_say_why_ends_the_lead_all_the_same(session: fencepost.Session) -> None:
    well = [True]

    def healthy() -> bool:
        if not well:
            raise Mute
        return True

    grant = session.election("a", healthy=healthy, check_every=0.01).acquire()
    well.clear()
    until(lambda: not grant.held)
    with pytest.raises(fencepost.Lost, match="its health check raised Mute"):
        grant.check()


def test_a_label_of_the_environment_is_looked_at_as_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    for label in ("x" * 1025, "\udcff"):
        monkeypatch.setenv("FENCEPOST_HOLDER", label)
        for connect in (fencepost.connect, fencepost.connect_async):
            with pytest.raises(ValueError, match=r"the label of a holder \(\$FENCEPOST_HOLDER\)"):
                connect("memory://")


def test_a_value_that_sqlite_can_not_even_be_told_is_a_value_error(connection: sqlite3.Connection) -> None:
    fence, table = RowFence(connection, "orders"), Table(connection, "orders", ["total"])
    for odd in (2**63, -(10**400), "\ud800"):
        for call in (
            lambda: fence.claim(odd, 1),  # noqa: B023
            lambda: fence.write(1, 1, total=odd),  # noqa: B023
            lambda: table.read(odd),  # noqa: B023
            lambda: table.swap(1, 0, {"total": odd}),  # noqa: B023
        ):
            with pytest.raises(ValueError, match="SQLite can not hold what is among these values"):
                call()
            assert not connection.in_transaction


@pytest.mark.parametrize("lasting", [float("nan"), float("inf"), -1.0])
def test_no_result_is_kept_for_no_time_that_there_is(connection: sqlite3.Connection, lasting: float) -> None:
    results = SqlResults(connection)
    results.claim("a", 1)
    with pytest.raises(ValueError, match="expires_in"):
        results.keep("a", 1, "{}", lasting)
    assert results.find("a") is None


@pytest.mark.parametrize("mark", ["9" * 5000, "\u0663", "-1", "", "7 ", str(2**63)])
def test_an_answer_with_a_mark_that_is_none_tells_of_nothing_stale(mark: str) -> None:
    request = SimpleNamespace(url="http://h", headers={"Fencing-Token": "6"})
    response = SimpleNamespace(status_code=412, headers={"Fencing-Mark": mark}, request=request)
    assert raise_if_stale(response) is response


def test_an_answer_to_a_request_without_a_token_is_stale_all_the_same() -> None:
    request = SimpleNamespace(url="http://h", headers={})
    with pytest.raises(Stale, match="token 7 was seen already"):
        raise_if_stale(SimpleNamespace(status_code=412, headers={"Fencing-Mark": "7"}, request=request))


def test_an_answer_that_can_not_be_read_is_no_usage_error_of_the_command_line() -> None:
    with pytest.raises(Malformed), usage():
        raise Malformed("what came is no answer")
    with pytest.raises(click.ClickException), usage():
        raise ValueError("a bad argument")


def test_a_name_with_the_sign_for_what_can_not_be_read_is_listed_by_postgresql() -> None:
    rows: list[tuple[Any, ...]] = [(b"a",), ("\ufffd".encode(),), (b"\xff",), (None,)]
    assert texts(rows) == ["a", "\ufffd"]
