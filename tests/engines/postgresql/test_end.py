"""Connections that end under advisory locks: nothing is held on one that is no more."""

import asyncio
import os
import signal
import threading

import pytest
from psycopg import OperationalError

import fencepost
from fencepost import Unavailable
from fencepost.contract.answer import Granted, Queued, Renewal
from fencepost.core.claim import Ask
from fencepost.core.url import parse_url
from fencepost.engines.postgresql.address import locate
from fencepost.engines.postgresql.advisory._async.engine import AsyncAdvisoryEngine
from fencepost.engines.postgresql.advisory._sync.engine import AdvisoryEngine
from fencepost.engines.postgresql.query import Query, rows
from fencepost.engines.postgresql.wire import aio
from fencepost.engines.postgresql.wire.watch import watch
from fencepost.testing.condition import until
from fencepost.testing.postgresql import query
from fencepost.testing.proxy import Proxy
from tests.support.engine import engine_as
from tests.support.patience import connect, connect_async

from .conftest import at

ADVISORY = "postgresql+advisory"
GRANTED = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2 AND granted AND pid = {}"
END = "SELECT pg_terminate_backend({}, 60000)"


def test_the_server_ends_the_connection_of_a_holder_that_is_frozen_for_its_lease(port: int) -> None:
    with fencepost.connect(at(port, ADVISORY), ttl=7) as session:
        lease = engine_as(session, AdvisoryEngine)._leases[session.keeper().holder.id]
        limit = Query("limit", "SELECT current_setting('idle_session_timeout')")
        assert rows(lease.main.connection.call(limit)) == [(b"7s",)]


def test_a_renewal_is_heard_on_the_connection_of_a_lease_that_holds_nothing(port: int) -> None:
    """Else the server would end it, and the lease with it."""
    with fencepost.connect(at(port, ADVISORY), ttl=300) as session:
        keeper = session.keeper()
        connection = engine_as(session, AdvisoryEngine)._leases[keeper.holder.id].main.connection
        before = connection.asked
        assert session.engine.lease_renew(keeper.holder, 300, []).alive
        assert connection.asked != before


def test_a_grant_on_a_connection_that_ended_before_it_was_heard_of_is_none(port: int) -> None:
    with (
        fencepost.connect(at(port, ADVISORY), ttl=300) as session,
        fencepost.connect(at(port, ADVISORY), ttl=300) as other,
    ):
        theirs = other.lock("a").acquire()
        # So that the lease lives on: its first connection has this one.
        held = session.lock("held").acquire()
        request = session.keeper().request((Ask("a"),))
        queued = session.engine.claim(request, wait=True)
        assert isinstance(queued, Queued)
        hold = queued.place.hold
        theirs.release()
        until(lambda: query(port, GRANTED.format(hold.connection.pid)))
        query(port, END.format(hold.connection.pid))
        lease = engine_as(session, AdvisoryEngine)._leases[request.holder.id]
        until(lambda: hold not in lease.holds)
        with pytest.raises(Unavailable, match="ended before its grant was heard of"):
            session.engine.wait(queued, 60)
        # Another had it meanwhile, and the same request may be asked again.
        other.lock("a").acquire(timeout=0).release()
        session.lock("a").acquire(timeout=60).release()
        assert held.held


async def test_a_grant_on_an_asynchronous_connection_that_ended_before_it_was_heard_of_is_none(port: int) -> None:
    async with (
        fencepost.connect_async(at(port, ADVISORY), ttl=300) as session,
        fencepost.connect_async(at(port, ADVISORY), ttl=300) as other,
    ):
        theirs = await other.lock("a").acquire()
        held = await session.lock("held").acquire()
        request = (await session.keeper()).request((Ask("a"),))
        queued = await session.engine.claim(request, wait=True)
        assert isinstance(queued, Queued)
        hold = queued.place.hold
        await theirs.release()
        until(lambda: query(port, GRANTED.format(hold.connection.pid)))
        query(port, END.format(hold.connection.pid))
        lease = engine_as(session, AsyncAdvisoryEngine)._leases[request.holder.id]
        while hold in lease.holds:
            await asyncio.sleep(0.001)
        with pytest.raises(Unavailable, match="ended before its grant was heard of"):
            await session.engine.wait(queued, 60)
        await (await other.lock("a").acquire(timeout=0)).release()
        await (await session.lock("a").acquire(timeout=60)).release()
        assert held.held


async def test_an_end_that_is_noticed_by_sending_is_told(port: int) -> None:
    connection = await aio.connect(locate(parse_url(at(port))), 60)
    ended = threading.Event()
    connection.on_end(ended.set)

    def broken() -> None:
        raise OperationalError("broken pipe")

    with pytest.raises(Unavailable, match="broken pipe"):
        connection._submit(broken)
    assert ended.is_set()


async def test_an_end_before_anybody_wants_to_know_of_it_is_told(port: int) -> None:
    connection = await aio.connect(locate(parse_url(at(port))), 60)
    query(port, END.format(connection.pid))
    while connection.is_open:
        await asyncio.sleep(0.001)
    ended = threading.Event()
    connection.on_end(ended.set)
    assert ended.is_set()


def test_a_grant_that_a_renewal_did_not_ask_about_is_none_if_its_connection_has_ended(port: int) -> None:
    """The server ends a connection that it has not heard of, and a renewal on others says nothing of that one."""
    with (
        fencepost.connect(at(port, ADVISORY), ttl=300) as session,
        fencepost.connect(at(port, ADVISORY), ttl=300) as other,
    ):
        theirs = other.lock("a").acquire()
        held = session.lock("held").acquire()
        request = session.keeper().request((Ask("a"),))
        queued = session.engine.claim(request, wait=True)
        assert isinstance(queued, Queued)
        connection = queued.place.hold.connection
        theirs.release()
        until(lambda: query(port, GRANTED.format(connection.pid)))
        # As if the news of its end were lost on the way.
        watch.remove(connection.fileno)
        query(port, END.format(connection.pid))
        assert session.engine.lease_renew(request.holder, 300, [held.claim]) == Renewal(alive=True)
        with pytest.raises(Unavailable):
            session.engine.wait(queued, 60)
        other.lock("a").acquire(timeout=0).release()
        session.lock("a").acquire(timeout=60).release()
        assert held.held


async def test_a_grant_that_no_asynchronous_renewal_asked_about_is_none_if_its_connection_has_ended(port: int) -> None:
    async with (
        fencepost.connect_async(at(port, ADVISORY), ttl=300) as session,
        fencepost.connect_async(at(port, ADVISORY), ttl=300) as other,
    ):
        theirs = await other.lock("a").acquire()
        held = await session.lock("held").acquire()
        request = (await session.keeper()).request((Ask("a"),))
        queued = await session.engine.claim(request, wait=True)
        assert isinstance(queued, Queued)
        connection = queued.place.hold.connection
        await theirs.release()
        while connection._owing:
            await asyncio.sleep(0.001)
        loop = asyncio.get_running_loop()
        loop.remove_reader(connection.fileno)
        query(port, END.format(connection.pid))
        assert await session.engine.lease_renew(request.holder, 300, [held.claim]) == Renewal(alive=True)
        loop.add_reader(connection.fileno, connection._readable)
        with pytest.raises(Unavailable):
            await session.engine.wait(queued, 60)
        await (await other.lock("a").acquire(timeout=0)).release()
        await (await session.lock("a").acquire(timeout=60)).release()
        assert held.held


@pytest.mark.parametrize("then", ["asked again", "given back"])
def test_a_grant_whose_connection_is_slow_to_say_that_it_stands_is_asked_about_again(port: int, then: str) -> None:
    with (
        fencepost.connect(at(port, ADVISORY), ttl=300) as session,
        fencepost.connect(at(port, ADVISORY), ttl=300) as other,
    ):
        theirs = other.lock("a").acquire()
        held = session.lock("held").acquire()
        request = session.keeper().request((Ask("a"),))
        queued = session.engine.claim(request, wait=True)
        assert isinstance(queued, Queued)
        connection = queued.place.hold.connection
        session.engine.lease_renew(request.holder, 300, [held.claim])
        theirs.release()
        until(lambda: query(port, GRANTED.format(connection.pid)))
        patience, connection._patience = connection._patience, 300
        os.kill(connection.pid, signal.SIGSTOP)
        try:
            with pytest.raises(Unavailable):
                session.engine.wait(queued, 60)
        finally:
            os.kill(connection.pid, signal.SIGCONT)
            connection._patience = patience
        if then == "asked again":
            assert isinstance(session.engine.claim(request, wait=True), Granted)
            assert other.lock("a").try_acquire() is None
        session.engine.withdraw(request)
        other.lock("a").acquire(timeout=0).release()
        assert held.held


async def test_closing_a_lease_that_is_cancelled_leaves_no_connection_open(port: int) -> None:
    async with fencepost.connect_async(at(port, ADVISORY), ttl=300) as other:
        session = fencepost.connect_async(at(port, ADVISORY), ttl=300)
        held = await session.lock("a").acquire()
        lease = engine_as(session, AsyncAdvisoryEngine)._leases[held.holder.id]
        first = lease.main.connection
        second = await engine_as(session, AsyncAdvisoryEngine)._another(lease)
        closing = asyncio.ensure_future(session.engine.lease_close(held.holder))
        os.kill(first.pid, signal.SIGSTOP)
        try:
            while not first._owing:
                await asyncio.sleep(0)
            closing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await closing
            assert not first.is_open
            assert not second.connection.is_open
        finally:
            os.kill(first.pid, signal.SIGCONT)
        await (await other.lock("a").acquire(timeout=60)).release()
        await session.close()


def test_closing_a_lease_that_is_interrupted_leaves_no_connection_open(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        fencepost.connect(at(port, ADVISORY), ttl=300) as session,
        fencepost.connect(at(port, ADVISORY), ttl=300) as other,
    ):
        held = session.lock("a").acquire()
        lease = engine_as(session, AdvisoryEngine)._leases[held.holder.id]
        second = engine_as(session, AdvisoryEngine)._another(lease)

        def interrupted(*args: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(engine_as(session, AdvisoryEngine)._usher, "call", interrupted)
            with pytest.raises(KeyboardInterrupt):
                session.engine.lease_close(held.holder)
        assert not lease.main.connection.is_open
        assert not second.connection.is_open
        other.lock("a").acquire(timeout=60).release()


async def test_a_connection_that_is_made_while_its_lease_is_closed_does_not_stay_open(port: int) -> None:
    async with fencepost.connect_async(at(port, ADVISORY), ttl=300) as session:
        held = await session.lock("a").acquire()
        lease = engine_as(session, AsyncAdvisoryEngine)._leases[held.holder.id]
        await session.engine.lease_close(held.holder)
        with pytest.raises(Unavailable, match="the lease was closed"):
            await engine_as(session, AsyncAdvisoryEngine)._another(lease)
        assert not any(hold.connection.is_open for hold in lease.holds)


def test_a_waiter_that_can_not_be_told_to_stop_costs_the_locks_on_other_connections_nothing(port: int) -> None:
    """Its own connection is closed: the first one of the lease, which held nothing."""
    with (
        Proxy(port) as proxy,
        fencepost.connect(at(port, ADVISORY), ttl=300) as other,
        connect(at(proxy.port, ADVISORY), ttl=300, patience=60) as session,
    ):
        theirs = other.lock("a").acquire()
        request = session.keeper().request((Ask("a"),))
        assert isinstance(session.engine.claim(request, wait=True), Queued)
        held = session.lock("held").acquire()
        # The server has no room for one more, on which to say so.
        proxy.refuse()
        engine_as(session, AdvisoryEngine)._patience = 0.0
        session.engine.withdraw(request)
        assert session.engine.lease_renew(request.holder, 300, [held.claim]) == Renewal(alive=True)
        assert held.held
        until(lambda: not other.look("a").waiters)
        theirs.release()
        held.release()
        other.lock("held").acquire(timeout=60)


async def test_a_task_that_can_not_be_told_to_stop_waiting_costs_the_locks_on_other_connections_nothing(
    port: int,
) -> None:
    with Proxy(port) as proxy:
        async with (
            fencepost.connect_async(at(port, ADVISORY), ttl=300) as other,
            connect_async(at(proxy.port, ADVISORY), ttl=300, patience=60) as session,
        ):
            theirs = await other.lock("a").acquire()
            request = (await session.keeper()).request((Ask("a"),))
            assert isinstance(await session.engine.claim(request, wait=True), Queued)
            held = await session.lock("held").acquire()
            proxy.refuse()
            engine_as(session, AsyncAdvisoryEngine)._patience = 0.0
            await session.engine.withdraw(request)
            assert await session.engine.lease_renew(request.holder, 300, [held.claim]) == Renewal(alive=True)
            assert held.held
            while (await other.look("a")).waiters:
                await asyncio.sleep(0.01)
            await theirs.release()
            await held.release()
            await other.lock("held").acquire(timeout=60)


def test_a_renewal_that_fails_leaves_no_connection_in_use(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with fencepost.connect(at(port, ADVISORY), ttl=300) as session:
        shared = [session.rwlock("a").read().acquire() for _ in range(2)]
        holder = session.keeper().holder
        holds = list(engine_as(session, AdvisoryEngine)._leases[holder.id].holds)
        assert len(holds) > 1

        def fail(hold: object) -> None:
            raise Unavailable("not now")

        with monkeypatch.context() as patch:
            patch.setattr(session.engine, "_keep", fail)
            with pytest.raises(Unavailable, match="not now"):
                session.engine.lease_renew(holder, 300, ())
        assert [hold.users for hold in holds] == [set()] * len(holds)
        for grant in shared:
            grant.release()
