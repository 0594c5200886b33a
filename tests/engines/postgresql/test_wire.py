"""Connections: no answer ever reaches another than who asked."""

import asyncio
import socket
import threading
from collections.abc import Iterator

import psycopg
import pytest

from fencepost._runtime.clock import boottime
from fencepost.core.url import parse_url
from fencepost.engines.postgresql.address import Address, locate
from fencepost.engines.postgresql.query import Query, array, value
from fencepost.engines.postgresql.trouble import ServerError
from fencepost.engines.postgresql.wire import aio, threads
from fencepost.errors import Refused, Unavailable
from fencepost.testing.condition import until
from fencepost.testing.port import free_port
from fencepost.testing.postgresql import connect, query
from fencepost.testing.proxy import Proxy

from .conftest import at

# They wait at a gate.
LATE = Query("late", "SELECT $1::text, pg_advisory_xact_lock_shared(7)")
WRONG = Query("wrong", "SELECT $1::int / length(pg_advisory_xact_lock_shared(7)::text)")
ECHO = Query("echo", "SELECT $1::text")


class Gate:
    """Where LATE and WRONG wait: they are answered when it is open, and not before."""

    def __init__(self, keeper: psycopg.Connection[tuple[object, ...]]) -> None:
        self._keeper = keeper
        self._opening: threading.Timer | None = None

    def shut(self) -> None:
        if self._opening is not None:
            self._opening.join()
        self._keeper.execute("SELECT pg_advisory_lock(7)")

    def open_soon(self) -> None:
        """When whoever waits for it has had the time to begin with that."""
        self._opening = threading.Timer(0.1, self._keeper.execute, ["SELECT pg_advisory_unlock(7)"])
        self._opening.start()

    def close(self) -> None:
        if self._opening is not None:
            self._opening.join()


@pytest.fixture
def gate(port: int) -> Iterator[Gate]:
    with connect(port) as keeper:
        gate = Gate(keeper)
        yield gate
        gate.close()


def address(port: int) -> Address:
    return locate(parse_url(at(port)))


@pytest.mark.parametrize("pooled", [False, True])
def test_an_answer_that_comes_too_late_is_nobodys(port: int, gate: Gate, pooled: bool) -> None:
    connection = threads.connect(address(port), 60.0)
    connection.pooled = pooled
    gate.shut()
    assert connection.ask(LATE, (b"one",), 1) is None
    gate.open_soon()
    assert value(connection.call(ECHO, b"two")) == b"two"
    gate.shut()
    assert connection.ask(WRONG, (b"1",), 1) is None
    gate.open_soon()
    assert value(connection.call(ECHO, b"three")) == b"three"
    gate.shut()
    assert connection.ask(LATE, (b"four",), 1) is None
    gate.open_soon()
    result = connection.finish(boottime() + 60)
    assert result is not None
    assert value(result) == b"four"
    with pytest.raises(ServerError, match="division by zero"):
        connection.call(WRONG, b"1")
    connection.close()


@pytest.mark.parametrize("pooled", [False, True])
async def test_an_asynchronous_answer_that_comes_too_late_is_nobodys(port: int, gate: Gate, pooled: bool) -> None:
    connection = await aio.connect(address(port), 60.0)
    connection.pooled = pooled
    gate.shut()
    assert await connection.ask(LATE, (b"one",), 1) is None
    gate.open_soon()
    assert value(await connection.call(ECHO, b"two")) == b"two"
    gate.shut()
    assert await connection.ask(WRONG, (b"1",), 1) is None
    gate.open_soon()
    assert value(await connection.call(ECHO, b"three")) == b"three"
    for each in (LATE, ECHO, WRONG):
        gate.shut()
        call = asyncio.ensure_future(connection.call(each, b"1"))
        await asyncio.sleep(0.01)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        gate.open_soon()
        assert value(await connection.call(ECHO, b"four")) == b"four"
    with pytest.raises(ServerError, match="division by zero"):
        await connection.call(WRONG, b"1")
    connection.close()


def test_a_server_that_does_not_answer_is_unavailable_in_time(port: int) -> None:
    with Proxy(port) as proxy:
        connection = threads.connect(address(proxy.port), 60.0)
        assert value(connection.call(ECHO, b"one")) == b"one"
        proxy.hold()
        connection._patience = 300
        with pytest.raises(Unavailable, match=r"did not answer within 0\.3 s"):
            connection.call(ECHO, b"two")
        proxy.heal()
        connection._patience = 60_000
        assert value(connection.call(ECHO, b"three")) == b"three"
        connection.close()


def test_the_end_of_a_connection_is_told_though_nobody_reads(port: int) -> None:
    connection = threads.connect(address(port), 60.0)
    ended = threading.Event()
    connection.on_end(ended.set)
    query(port, "SELECT pg_terminate_backend(%s)", connection.pid)
    assert ended.wait(60)
    with pytest.raises((ServerError, Unavailable)):
        connection.call(ECHO, b"one")
    assert not connection.is_open
    connection.close()


async def test_the_end_of_an_asynchronous_connection_is_told_though_nobody_waits(port: int) -> None:
    connection = await aio.connect(address(port), 60.0)
    ended = asyncio.Event()
    connection.on_end(ended.set)
    query(port, "SELECT pg_terminate_backend(%s)", connection.pid)
    await asyncio.wait_for(ended.wait(), 60)
    with pytest.raises(Unavailable):
        await connection.call(ECHO, b"one")


async def test_nobody_there_is_unavailable_and_not_being_let_in_is_refused(port: int) -> None:
    nowhere = address(free_port())
    with pytest.raises(Unavailable, match="refused"):
        threads.connect(nowhere, 60.0)
    with pytest.raises(Unavailable, match="refused"):
        await aio.connect(nowhere, 60.0)
    stranger = locate(parse_url(at(port, user="stranger")))
    with pytest.raises(Refused, match='role "stranger" does not exist'):
        threads.connect(stranger, 60.0)
    with pytest.raises(Refused, match='role "stranger" does not exist'):
        await aio.connect(stranger, 60.0)


def test_an_array_holds_any_text(port: int) -> None:
    words = ["plain", 'with "quotes"', "back\\slash", "{braces}", "comma,", "", "NULL", "🔒"]
    found = query(port, f"SELECT unnest('{array(words).decode()}'::text[])")
    assert [word for (word,) in found] == words


BLOCKED = Query("blocked", "SELECT $1::text FROM blocked")
IN_LINE = "SELECT pid FROM pg_locks WHERE NOT granted"


@pytest.fixture
def blocked(port: int) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """A table that nobody can even name until this connection rolls back."""
    query(port, "CREATE TABLE IF NOT EXISTS blocked AS SELECT 1")
    with connect(port) as keeper:
        keeper.execute("BEGIN")
        keeper.execute("LOCK TABLE blocked")
        yield keeper
    query(port, "DROP TABLE blocked")


async def test_a_statement_whose_preparation_was_cancelled_is_prepared_again(
    port: int, blocked: psycopg.Connection[tuple[object, ...]]
) -> None:
    connection = await aio.connect(address(port), 60)
    connection.pooled = False
    asking = asyncio.ensure_future(connection.call(BLOCKED, b"it"))
    await asyncio.to_thread(until, lambda: query(port, IN_LINE) == [(connection.pid,)])
    asking.cancel()
    await asyncio.to_thread(query, port, f"SELECT pg_cancel_backend({connection.pid})")
    await asyncio.to_thread(until, lambda: query(port, IN_LINE) == [])
    blocked.execute("ROLLBACK")
    assert value(await connection.call(BLOCKED, b"it")) == b"it"
    connection.close()


def test_a_statement_whose_preparation_was_late_and_then_cancelled_is_prepared_again(
    port: int, blocked: psycopg.Connection[tuple[object, ...]]
) -> None:
    connection = threads.connect(address(port), 0.3)
    connection.pooled = False
    with pytest.raises(Unavailable):
        connection.ask(BLOCKED, (b"it",), 300)
    query(port, f"SELECT pg_cancel_backend({connection.pid})")
    until(lambda: query(port, IN_LINE) == [])
    blocked.execute("ROLLBACK")
    found = connection.ask(BLOCKED, (b"it",), 60_000)
    assert found is not None
    assert value(found) == b"it"
    connection.close()


@pytest.mark.parametrize(("options", "idle"), [("", 10), ("?keepalives_idle=77", 77)])
async def test_the_kernel_looks_whether_a_silent_server_is_still_there(port: int, options: str, idle: int) -> None:
    address = locate(parse_url(at(port, options=options)))
    for connection in (threads.connect(address, 60), await aio.connect(address, 60)):
        with socket.socket(fileno=socket.dup(connection.fileno)) as twin:
            assert twin.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
            assert twin.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == idle
        connection.close()
