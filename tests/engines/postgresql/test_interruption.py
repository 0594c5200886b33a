"""A signal handler that raises, at any point of a call on a connection that is used again."""

import os
import weakref
from collections.abc import Iterator
from functools import partial

import pytest

from fencepost.core.url import parse_url
from fencepost.engines.postgresql import query
from fencepost.engines.postgresql._sync.store import Store
from fencepost.engines.postgresql.query import Query
from fencepost.engines.postgresql.wire.threads import Connection, Ear
from fencepost.testing.condition import until
from fencepost.testing.postgresql import connect
from tests.engines.postgresql.conftest import at
from tests.support.interruption import interrupt_at

# What is dropped half made is closed when it is collected.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
PATIENCE = 20.0
FIRST, SECOND = Query("first", "SELECT 1, $1::int"), Query("second", "SELECT 2, $1::int")


@pytest.fixture
def store(port: int) -> Iterator[Store]:
    store = Store(parse_url(at(port)), PATIENCE)
    yield store
    store.close()


def ask(connection: Connection, what: Query, number: bytes) -> tuple[bytes | None, ...]:
    (row,) = query.rows(connection.call(what, number))
    return tuple(row)


@pytest.mark.parametrize("prepared", [False, True], ids=["a new statement", "a known one"])
def test_an_answer_goes_to_who_asked_wherever_the_call_before_was_interrupted(store: Store, prepared: bool) -> None:
    point = 0
    while True:
        connection = store.connect()
        if prepared:
            ask(connection, FIRST, b"0")
        where = interrupt_at(point, partial(ask, connection, FIRST, b"1"))
        for number in (b"2", b"3"):
            assert ask(connection, SECOND, number) == (b"2", number), where
            assert ask(connection, FIRST, number) == (b"1", number), where
        connection.close()
        if where is None:
            break
        point += 1
    assert point > 10


def test_a_connection_is_closed_wherever_its_closing_is_interrupted(store: Store) -> None:
    point = 0
    while True:
        connection = store.connect()
        where = interrupt_at(point, connection.close)
        # As whoever forgets it.
        connection.__del__()
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(connection.fileno)
        assert not connection.is_open, where
        if where is None:
            break
        point += 1
    assert point > 3


def is_forgotten(reference: weakref.ref[Connection]) -> bool:
    return reference() is None


def is_closed(connection: Connection) -> bool:
    return not connection.is_open


def interrupted_closing(store: Store, point: int) -> tuple[Connection, str | None]:
    """Of what is watched for news, though nobody waits for them."""
    connection = store.connect()
    connection.script("LISTEN here")
    ear = Ear(lambda message: None)
    ear.open(connection, unattended=True)
    where = interrupt_at(point, ear.close)
    ear.close()
    return connection, where


def test_a_listening_connection_is_forgotten_wherever_its_closing_is_interrupted(store: Store) -> None:
    point = 0
    while True:
        connection, where = interrupted_closing(store, point)
        forgotten = weakref.ref(connection)
        del connection
        until(partial(is_forgotten, forgotten))
        if where is None:
            break
        point += 1
    assert point > 3


def test_a_listening_connection_ends_with_its_server_wherever_its_closing_is_interrupted(
    store: Store, port: int
) -> None:
    """Else the end would be told again and again, without a pause."""
    point = 0
    while True:
        connection, where = interrupted_closing(store, point)
        with connect(port) as told:
            told.execute("NOTIFY here")
        until(partial(is_closed, connection))
        if where is None:
            break
        point += 1
    assert point > 3
