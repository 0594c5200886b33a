"""Real servers that die, stop, end our connections, or whose replies are lost."""

import asyncio
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import fencepost
from fencepost import Lost, Unavailable, Uncertain
from fencepost.contract.answer import Gone, Granted, Queued
from fencepost.core.claim import Ask, Mode
from fencepost.engines.postgresql._sync.engine import PostgresqlEngine
from fencepost.engines.postgresql.advisory._async.engine import AsyncAdvisoryEngine
from fencepost.engines.postgresql.advisory._sync.engine import AdvisoryEngine
from fencepost.engines.postgresql.wire.watch import watch
from fencepost.testing.condition import until
from fencepost.testing.contract._sync.puppet import Puppet
from fencepost.testing.contract.site import Site
from fencepost.testing.postgresql import connect as sql_client
from fencepost.testing.postgresql import port_of, query
from fencepost.testing.proxy import Proxy
from fencepost.testing.server import ServerProcess
from tests.support.engine import engine_as
from tests.support.line import Line
from tests.support.patience import connect

from .conftest import at

OF_HOLDERS = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1"
LOCKS = "SELECT pid, classid, objid, objsubid, mode FROM pg_locks WHERE locktype = 'advisory' ORDER BY 1, 2, 3, 4, 5"


def test_a_killed_server_is_unavailable_and_back_after_its_restart(server: ServerProcess, scheme: str) -> None:
    with fencepost.connect(at(port_of(server), scheme), ttl=60) as session:
        old = session.lock("a").acquire()
        server.kill()
        with pytest.raises((Unavailable, Uncertain)):
            session.lock("b").acquire(timeout=0)
        server.start()
        new = session.lock("c").acquire(timeout=60)
        # A crash may forget the last values of a sequence: more than those are stepped over.
        assert new.token >= old.token + 2**32


def test_a_clean_restart_keeps_leases_in_tables(server: ServerProcess) -> None:
    url = at(port_of(server))
    with fencepost.connect(url, ttl=60) as first, fencepost.connect(url, ttl=60) as second:
        held = first.lock("a").acquire()
        server.restart()

        def is_up() -> bool:
            try:
                return second.lock("a").try_acquire() is None
            except (Unavailable, Uncertain):
                return False

        until(is_up)
        assert held.held
        held.release()
        new = second.lock("a").acquire(timeout=60)
        assert held.token < new.token < held.token + 2**32


def test_the_holder_is_told_in_time_when_the_server_stops_answering(server: ServerProcess, scheme: str) -> None:
    # It waits for its renewal for far longer than the lease lasts: to be told by then would be too late.
    with connect(at(port_of(server), scheme), ttl=2, patience=300) as session:
        grant = session.lock("a").acquire()
        server.pause()
        try:
            assert grant.lost.wait(60)
        finally:
            server.resume()
        session.lock("a").acquire(timeout=60).release()


def test_a_connection_ended_by_hand_is_a_loss_told_at_once(port: int) -> None:
    url = at(port, "postgresql+advisory")
    # The next renewal would be minutes away.
    with fencepost.connect(url, ttl=600) as first, fencepost.connect(url, ttl=600) as second:
        old = first.lock("a").acquire()
        waiting: list[fencepost.Grant] = []
        waiter = threading.Thread(target=lambda: waiting.append(second.lock("a").acquire()))
        waiter.start()
        until(lambda: first.look("a").waiters)
        query(port, f"SELECT pg_terminate_backend(pid) FROM ({OF_HOLDERS}) AS holder")
        assert old.lost.wait(60)
        with pytest.raises(Lost, match="connection was closed by the server"):
            old.check()
        waiter.join(60)
        assert waiting[0].token > old.token
        assert waiting[0].held


async def test_a_connection_ended_by_hand_ends_an_asynchronous_block(port: int) -> None:
    went_on = False
    async with fencepost.connect_async(at(port, "postgresql+advisory"), ttl=600) as session:
        with pytest.raises(Lost, match="connection was closed by the server"):
            async with session.lock("a") as grant:
                query(port, f"SELECT pg_terminate_backend(pid) FROM ({OF_HOLDERS}) AS holder")
                await grant.lost.wait(60)
                went_on = True
        assert not went_on
        async with session.lock("a", timeout=60):
            pass


def test_a_connection_that_ends_under_a_table_lease_loses_nothing(port: int) -> None:
    with fencepost.connect(at(port), ttl=60) as session:
        grant = session.lock("a").acquire()
        query(port, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'fencepost'")
        until(lambda: _works(session))
        assert grant.held
        grant.release()


def _works(session: fencepost.Session) -> bool:
    try:
        session.lock("b").acquire(timeout=0).release()
    except (Unavailable, Uncertain):
        return False
    return True


def test_a_claim_whose_reply_is_lost_leaves_no_phantom_holder(port: int, scheme: str) -> None:
    with (
        Proxy(port) as proxy,
        fencepost.connect(at(port, scheme), ttl=60) as other,
        connect(at(proxy.port, scheme), ttl=3, patience=0.5) as session,
    ):
        until(lambda: _works(session))
        proxy.drop_replies()
        with pytest.raises((Unavailable, Uncertain)):
            session.lock("a").try_acquire()
        proxy.heal()
        until(lambda: not other.look("a").holders)
        # A connection whose reply was lost is of no use any more: with advisory locks its lease ends first.
        until(lambda: _works(session))
        session.lock("a").acquire(timeout=60).release()


@contextmanager
def stopped(session: fencepost.Session) -> Iterator[None]:
    """The server's end of its connection stands still, and whoever asks there does not wait for long."""
    connection = engine_as(session, AdvisoryEngine)._leases[session.keeper().holder.id].main.connection
    patience, connection._patience = connection._patience, 300
    os.kill(connection.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(connection.pid, signal.SIGCONT)
        connection._patience = patience


@pytest.mark.parametrize("then", ["asked again", "given back"])
def test_an_advisory_lock_whose_sharing_is_answered_late_is_shared_once(port: int, then: str) -> None:
    """The connection lives on: a second shared lock on it would outlive the grant."""
    with (
        fencepost.connect(at(port, "postgresql+advisory"), ttl=300) as other,
        connect(at(port, "postgresql+advisory"), ttl=300, patience=60) as session,
    ):
        # So that the statement is prepared: else that is what is late.
        with session.rwlock("a").write() as warm:
            session.rwlock("a").downgrade(warm)
        written = session.rwlock("a").write().acquire()
        with stopped(session), pytest.raises(Uncertain, match="ours still"):
            session.rwlock("a").downgrade(written)
        if then == "asked again":
            session.rwlock("a").downgrade(written)
            with other.rwlock("a", timeout=60).read():
                assert written.held
        written.release()
        assert other.rwlock("a").write().try_acquire() is not None


@pytest.mark.parametrize("mode", [Mode.EXCLUSIVE, Mode.SHARED])
def test_an_attempt_that_is_answered_late_leaves_nothing_beside_what_its_connection_holds(
    port: int, mode: Mode
) -> None:
    with connect(at(port, "postgresql+advisory"), ttl=300, patience=60) as session, session.lock("held"):
        # So that the statements are prepared: else that is what is late.
        for warm in (session.rwlock("warm").read(), session.rwlock("warm").write()):
            grant = warm.try_acquire()
            assert grant is not None
            grant.release()
        before = query(port, LOCKS)
        request = session.keeper().request((Ask("a", mode=mode),))
        with stopped(session), pytest.raises(Unavailable):
            session.engine.claim(request, wait=False)
        session.engine.withdraw(request)
        assert query(port, LOCKS) == before


async def test_an_ask_goes_on_under_another_lease_when_its_connection_is_ended(port: int) -> None:
    """The connection holds something, so that one more name is tried there; it ends before the answer."""
    async with fencepost.connect_async(at(port, "postgresql+advisory"), ttl=300) as session:
        held = await session.lock("held").acquire()
        # So that the statement is prepared: else that is what is late.
        await (await session.lock("warm").acquire()).release()
        connection = engine_as(session, AsyncAdvisoryEngine)._leases[held.holder.id].main.connection
        os.kill(connection.pid, signal.SIGSTOP)
        try:
            asking = asyncio.ensure_future(session.lock("a").acquire(timeout=60))
            while not connection._owing:
                await asyncio.sleep(0)
            await asyncio.to_thread(query, port, f"SELECT pg_terminate_backend({connection.pid})")
        finally:
            os.kill(connection.pid, signal.SIGCONT)
        grant = await asking
        assert grant.held
        assert grant.holder.id != held.holder.id
        assert held.lost.is_set()


def test_a_lease_that_ended_unheard_is_told_by_the_next_ask(port: int) -> None:
    with fencepost.connect(at(port, "postgresql+advisory"), ttl=300) as session:
        held = session.lock("held").acquire()
        connection = engine_as(session, AdvisoryEngine)._leases[held.holder.id].main.connection
        # As if whoever watches for its end had no time.
        watch.remove(connection.fileno)
        query(port, f"SELECT pg_terminate_backend({connection.pid}, 60000)")
        assert isinstance(session.engine.claim(session.keeper().request((Ask("a"),)), wait=True), Gone)
        assert held.lost.is_set()
        session.lock("a").acquire(timeout=60).release()


async def test_nobody_waits_on_a_connection_that_owes_the_answer_to_a_cancelled_attempt(port: int) -> None:
    url = at(port, "postgresql+advisory")
    async with fencepost.connect_async(url, ttl=300) as session, fencepost.connect_async(url, ttl=300) as other:
        # So that the statement is prepared: else that is what is late.
        warm = await session.lock("warm").try_acquire()
        assert warm is not None
        await warm.release()
        theirs = await other.lock("b").acquire()
        keeper, engine = await session.keeper(), engine_as(session, AsyncAdvisoryEngine)
        given_up, patient = keeper.request((Ask("a"),)), keeper.request((Ask("b"),))
        backend = engine._leases[keeper.holder.id].main.connection.pid
        os.kill(backend, signal.SIGSTOP)
        attempt = asyncio.ensure_future(engine.claim(given_up, wait=False))
        await asyncio.sleep(0.1)
        attempt.cancel()
        await asyncio.wait([attempt])
        os.kill(backend, signal.SIGCONT)
        # Others are faster than who was cancelled is in giving back what may have come of it.
        queued = await engine.claim(patient, wait=True)
        assert isinstance(queued, Queued)
        waiting = asyncio.ensure_future(engine.wait(queued, 60))
        leaving = asyncio.ensure_future(engine.withdraw(given_up))
        await asyncio.sleep(0.1)
        await theirs.release()
        await leaving
        assert isinstance(await waiting, Granted)
        assert (await other.look("a")).holders == ()


def test_a_waiter_that_leaves_before_the_server_has_read_its_statement_leaves_the_queue(port: int) -> None:
    url = at(port, "postgresql+advisory")
    with fencepost.connect(url, ttl=60) as first, fencepost.connect(url, ttl=60) as second:
        first.lock("a").acquire()
        second.lock("warm").acquire().release()
        request = second.keeper().request((Ask("a"),))
        pid = engine_as(second, AdvisoryEngine)._leases[request.holder.id].main.connection.pid
        # A busy machine does the same: the cancellation is there first, and finds nothing to cancel.
        os.kill(pid, signal.SIGSTOP)
        resume = threading.Timer(0.5, os.kill, [pid, signal.SIGCONT])
        resume.start()
        try:
            assert isinstance(second.engine.claim(request, wait=True), Queued)
            second.engine.withdraw(request)
            assert not first.look("a").waiters
        finally:
            resume.join()
        second.lock("b").acquire(timeout=60)
        assert first.lock("b").try_acquire() is None


def test_news_that_comes_before_the_answer_is_not_forgotten(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with fencepost.connect(at(port), ttl=60) as first, fencepost.connect(at(port), ttl=60) as second:
        first.lock("a").acquire()
        engine, request = engine_as(second, PostgresqlEngine), second.keeper().request((Ask("a"),))
        value = engine._store.value

        def slow(*args: Any) -> Any:
            reply = value(*args)
            # Somebody stepped in or out before us, as is told on another connection.
            engine._deliver(f"{request.holder.id}:{request.serial}:".encode())
            return reply

        monkeypatch.setattr(engine._store, "value", slow)
        queued = engine.claim(request, wait=True)
        assert isinstance(queued, Queued)
        assert queued.place.stirred


def listeners(port: int) -> set[int]:
    return {pid for (pid,) in query(port, "SELECT pid FROM pg_stat_activity WHERE query LIKE 'LISTEN fence%'")}


def test_a_waiter_whose_listening_connection_is_ended_keeps_its_place(port: int) -> None:
    with (
        fencepost.connect(at(port), ttl=60) as first,
        fencepost.connect(at(port), ttl=60, holder="cut") as cut,
        fencepost.connect(at(port), ttl=60, holder="behind") as behind,
    ):
        held = first.lock("a").acquire()
        line = Line(first)
        # Others may still listen at the server that tests share.
        before = listeners(port)
        line.join(cut.lock("a", timeout=60))
        line.join(behind.lock("a", timeout=60))
        until(lambda: len(listeners(port) - before) == 2)
        ended = listeners(port) - before
        for pid in ended:
            query(port, f"SELECT pg_terminate_backend({pid}, 60000)")
        until(lambda: len(listeners(port) - before - ended) == 2)
        assert [each.claim.holder.label for each in first.look("a").waiters] == ["cut", "behind"]
        held.release()
        assert [each.label for each in line.served()] == ["cut", "behind"]


def test_a_stopped_holder_that_does_not_hear_is_evicted_all_the_same(port: int) -> None:
    url = at(port, "postgresql+advisory")
    with Puppet(Site(url), "stopped", ttl=60) as puppet, connect(url, ttl=60, patience=1) as session:
        puppet.ask("acquire", name="a", timeout=0)
        puppet.stop()
        assert [claim.holder.label for claim in session.evict("a")] == ["stopped"]
        session.lock("a").acquire(timeout=60)
        puppet.resume()


def test_a_plain_client_that_holds_a_name_is_seen_and_can_be_evicted(port: int) -> None:
    with sql_client(port) as plain, fencepost.connect(at(port, "postgresql+advisory"), ttl=60) as session:
        plain.execute("SELECT pg_advisory_lock(hashtextextended('a', 0))")
        assert session.look("a").holders[0].claim.holder.label == "another client"
        assert session.lock("a").try_acquire() is None
        assert len(session.evict("a")) == 1
        session.lock("a").acquire(timeout=0)
