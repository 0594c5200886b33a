"""Evictions from advisory locks that are heard of late, or that nobody has put on record."""

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

import fencepost
from fencepost.contract.answer import Granted, Renewal
from fencepost.core.claim import Ask
from fencepost.engines.postgresql.advisory._async.engine import AsyncAdvisoryEngine
from fencepost.engines.postgresql.advisory._sync.engine import AdvisoryEngine
from fencepost.testing.condition import until
from fencepost.testing.postgresql import connect, query
from fencepost.testing.proxy import Proxy
from tests.support.engine import engine_as

from .conftest import at

ADVISORY = "postgresql+advisory"
WORKER = "fencepost-eviction"
# Whoever was told of an eviction, and can not read who did it.
ASKING = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'SELECT by FROM%eviction%'"
COUNT = f"SELECT count(*) FROM ({ASKING}) AS asking"
LISTENING = "SELECT 1 FROM pg_stat_activity WHERE query = 'LISTEN fencepost_{holder}'"
DEAFEN = "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE query = 'LISTEN fencepost_{holder}'"
RECORD = (
    "INSERT INTO fencepost.eviction (name, token, holder, evicted, by, at)"
    " VALUES ('a', {token}, '{holder}', '', 'operator', clock_timestamp())"
)
TELL = "SELECT pg_notify('fencepost_{holder}', '{token}')"


@contextmanager
def heard_late(port: int, holder: str, token: int) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """The holder of a lock has heard that it is evicted, and learns by whom after this."""
    query(port, RECORD.format(holder=holder, token=token))
    with connect(port) as keeper, keeper.transaction():
        keeper.execute("LOCK TABLE fencepost.eviction IN ACCESS EXCLUSIVE MODE")
        query(port, TELL.format(holder=holder, token=token))
        yield keeper


def working() -> bool:
    return any(WORKER in thread.name for thread in threading.enumerate())


async def worked() -> None:
    while any(WORKER in task.get_name() for task in asyncio.all_tasks()):
        await asyncio.sleep(0.001)


def test_an_eviction_that_is_obeyed_late_leaves_the_next_grant_alone(port: int) -> None:
    with (
        fencepost.connect(at(port, ADVISORY), ttl=300) as session,
        fencepost.connect(at(port, ADVISORY), ttl=300) as other,
    ):
        first = session.lock("a").acquire()
        with heard_late(port, session.keeper().holder.id, first.token):
            until(lambda: query(port, ASKING))
            first.release()
            second = session.lock("a").acquire()
        until(lambda: not working())
        assert other.lock("a").try_acquire() is None
        second.release()
        other.lock("a").acquire(timeout=60).release()


async def test_an_eviction_that_an_asynchronous_session_obeys_late_leaves_the_next_grant_alone(port: int) -> None:
    async with (
        fencepost.connect_async(at(port, ADVISORY), ttl=300) as session,
        fencepost.connect_async(at(port, ADVISORY), ttl=300) as other,
    ):
        first = await session.lock("a").acquire()
        with heard_late(port, (await session.keeper()).holder.id, first.token):
            while not query(port, ASKING):
                await asyncio.sleep(0.001)
            await first.release()
            second = await session.lock("a").acquire()
        await worked()
        assert await other.lock("a").try_acquire() is None
        await second.release()
        await (await other.lock("a").acquire(timeout=60)).release()


def test_a_message_of_which_there_is_no_record_makes_nobody_let_go(port: int) -> None:
    with (
        fencepost.connect(at(port, ADVISORY), ttl=300) as session,
        fencepost.connect(at(port, ADVISORY), ttl=300) as other,
    ):
        held, evicted = session.lock("a").acquire(), session.lock("b").acquire()
        query(port, TELL.format(holder=session.keeper().holder.id, token=held.token))
        # Messages come in the order in which they were sent, and this one is obeyed.
        assert len(other.evict("b")) == 1
        until(lambda: not working())
        assert other.lock("a").try_acquire() is None
        assert other.lock("b").try_acquire() is not None
        assert evicted.token > held.token


async def test_a_message_of_which_there_is_no_record_makes_no_task_let_go(port: int) -> None:
    async with (
        fencepost.connect_async(at(port, ADVISORY), ttl=300) as session,
        fencepost.connect_async(at(port, ADVISORY), ttl=300) as other,
    ):
        held, evicted = await session.lock("a").acquire(), await session.lock("b").acquire()
        query(port, TELL.format(holder=(await session.keeper()).holder.id, token=held.token))
        assert len(await other.evict("b")) == 1
        await worked()
        assert await other.lock("a").try_acquire() is None
        assert await other.lock("b").try_acquire() is not None
        assert evicted.token > held.token


def test_a_renewal_comes_through_while_nobody_can_listen_for_evictions(port: int) -> None:
    with (
        Proxy(port) as proxy,
        fencepost.connect(at(proxy.port, ADVISORY), ttl=300) as session,
        fencepost.connect(at(port, ADVISORY), ttl=300) as other,
    ):
        held = session.lock("a").acquire()
        holder = held.holder.id
        # The connections that are there stay.
        proxy.refuse()
        query(port, DEAFEN.format(holder=holder))
        until(lambda: not engine_as(session, AdvisoryEngine)._summons._channels[holder].ear.is_open)
        assert session.engine.lease_renew(held.holder, 300, [held.claim]) == Renewal(alive=True)
        proxy.heal()

        def listens() -> bool:
            session.engine.lease_renew(held.holder, 300, [held.claim])
            return bool(query(port, LISTENING.format(holder=holder)))

        until(listens)
        assert [claim.token for claim in other.evict("a")] == [held.token]


async def test_an_asynchronous_renewal_comes_through_while_nobody_can_listen_for_evictions(port: int) -> None:
    with Proxy(port) as proxy:
        async with (
            fencepost.connect_async(at(proxy.port, ADVISORY), ttl=300) as session,
            fencepost.connect_async(at(port, ADVISORY), ttl=300) as other,
        ):
            held = await session.lock("a").acquire()
            holder = held.holder.id
            proxy.refuse()
            query(port, DEAFEN.format(holder=holder))
            while engine_as(session, AsyncAdvisoryEngine)._summons._channels[holder].ear.is_open:
                await asyncio.sleep(0.001)
            assert await session.engine.lease_renew(held.holder, 300, [held.claim]) == Renewal(alive=True)
            proxy.heal()
            while not query(port, LISTENING.format(holder=holder)):
                await session.engine.lease_renew(held.holder, 300, [held.claim])
                await asyncio.sleep(0.001)
            assert [claim.token for claim in await other.evict("a")] == [held.token]


def test_a_name_that_another_thread_is_about_to_give_back_is_waited_for(port: int) -> None:
    """An eviction is over when the server has the lock back: before its holder has heard of that."""
    with fencepost.connect(at(port, ADVISORY), ttl=300) as session:
        held = session.lock("a").acquire()
        engine, request = engine_as(session, AdvisoryEngine), session.keeper().request((Ask("a"),))
        lease = engine._leases[held.holder.id]
        entry = lease.entries[held.claim.serial]
        assert lease.grip(entry, object())
        answers: list[object] = []
        asking = threading.Thread(target=lambda: answers.append(engine.claim(request, wait=False)))
        asking.start()
        # Whoever does not wait has its answer now.
        asking.join(0.3)
        engine._unlock(entry)
        engine._forget(lease, entry)
        asking.join(60)
        assert isinstance(answers[0], Granted)
        engine.withdraw(request)


def test_a_renewal_comes_through_where_there_is_no_room_for_a_thread(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with fencepost.connect(at(port, ADVISORY), ttl=300) as session:
        held = session.lock("a").acquire()
        holder = held.holder.id
        query(port, DEAFEN.format(holder=holder))
        until(lambda: not engine_as(session, AdvisoryEngine)._summons._channels[holder].ear.is_open)

        def no_room(self: threading.Thread) -> None:
            raise RuntimeError("can't start new thread")

        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", no_room)
            assert session.engine.lease_renew(held.holder, 300, [held.claim]) == Renewal(alive=True)
        session.engine.lease_renew(held.holder, 300, [held.claim])
        until(lambda: query(port, LISTENING.format(holder=holder)))


def tell_often(port: int, holder: str, token: int) -> None:
    """Each in a transaction of its own: the server tells the same only once in each."""
    with connect(port) as stranger:
        for _ in range(50):
            stranger.execute(TELL.format(holder=holder, token=token).encode())


def test_one_looks_at_a_time_however_often_an_eviction_is_told(port: int) -> None:
    with fencepost.connect(at(port, ADVISORY), ttl=300) as session:
        held = session.lock("a").acquire()
        with connect(port) as keeper, keeper.transaction():
            keeper.execute("LOCK TABLE fencepost.eviction IN ACCESS EXCLUSIVE MODE")
            tell_often(port, held.holder.id, held.token)
            until(lambda: query(port, ASKING))
            # Those that would look have begun before this.
            time.sleep(0.5)
            assert sum(WORKER in thread.name for thread in threading.enumerate()) == 1
            assert query(port, COUNT) == [(1,)]
        until(lambda: not working())
        assert held.held


async def test_one_task_looks_at_a_time_however_often_an_eviction_is_told(port: int) -> None:
    async with fencepost.connect_async(at(port, ADVISORY), ttl=300) as session:
        held = await session.lock("a").acquire()
        with connect(port) as keeper, keeper.transaction():
            keeper.execute("LOCK TABLE fencepost.eviction IN ACCESS EXCLUSIVE MODE")
            await asyncio.to_thread(tell_often, port, held.holder.id, held.token)
            while not query(port, ASKING):
                await asyncio.sleep(0.001)
            await asyncio.sleep(0.5)
            assert sum(WORKER in task.get_name() for task in asyncio.all_tasks()) == 1
        await worked()
        assert held.held


def test_an_eviction_that_is_told_while_one_looks_in_vain_is_obeyed(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with fencepost.connect(at(port, ADVISORY), ttl=300) as session:
        held = session.lock("a").acquire()
        looked, went_on, tokens = threading.Event(), threading.Event(), list[int]()

        def who_evicted(token: int) -> str | None:
            tokens.append(token)
            if len(tokens) > 1:
                return "operator"
            looked.set()
            went_on.wait(60)
            return None

        monkeypatch.setattr(engine_as(session, AdvisoryEngine)._desk, "who_evicted", who_evicted)
        query(port, TELL.format(holder=held.holder.id, token=held.token))
        assert looked.wait(60)
        tell_often(port, held.holder.id, held.token)
        told = engine_as(session, AdvisoryEngine)._summons._told
        until(lambda: told.get(held.token))
        went_on.set()
        until(lambda: not session.look("a").holders)
        until(lambda: not working())
        assert not told


def test_tokens_that_nobody_has_are_looked_for_by_nobody(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with fencepost.connect(at(port, ADVISORY), ttl=300) as session:
        held = session.lock("a").acquire()
        lease = engine_as(session, AdvisoryEngine)._leases[held.holder.id]
        begun: list[str] = []
        monkeypatch.setattr("fencepost._runtime.threads.spawn", lambda work, name: begun.append(name))
        engine_as(session, AdvisoryEngine)._summons._obey(lease, b"%d" % (held.token + 1))
        assert begun == []
        engine_as(session, AdvisoryEngine)._summons._obey(lease, b"%d" % held.token)
        assert begun == [WORKER]
