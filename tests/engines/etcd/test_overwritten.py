"""Keys of ours that somebody else writes anew, as `etcdctl put` does."""

import secrets

import pytest

import fencepost
from fencepost import Refused
from fencepost._runtime import aio, threads
from fencepost.contract.answer import Granted, Queued
from fencepost.core.claim import Ask, Claim, Request
from fencepost.core.holder import Holder
from fencepost.core.url import parse_url
from fencepost.drivers.etcd import request
from fencepost.drivers.etcd.answer import KeyValue
from fencepost.engines.etcd._async.engine import AsyncEngine
from fencepost.engines.etcd._sync.engine import Engine
from fencepost.engines.etcd.key import lease_of
from fencepost.testing.etcd import client
from tests.support.renewal import renew, renew_async

LASTING = 60.0
# For what comes within a second, on a machine that is busy with something else.
PATIENCE = 60.0

FLAVOURS = pytest.mark.parametrize("flavour", ["sync", "async"])


def keys_of(url: str, name: str) -> list[KeyValue]:
    """In the order of their creation."""
    speaker = client(url=url)
    start = f"{name}/".encode()
    pairs = speaker.read(request.select(start, request.prefix_end(start), by_creation=True)).pairs
    speaker.close()
    return pairs


def put(url: str, key: bytes, value: bytes = b"note", *, lease: int = 0) -> None:
    speaker = client(url=url)
    speaker.commit(request.transaction([], [request.put(key, value, lease)]))
    speaker.close()


@FLAVOURS
@pytest.mark.parametrize("leased", [False, True], ids=["without a lease", "on another lease"])
async def test_a_holder_whose_key_is_not_on_its_lease_any_more_is_told_by_the_next_renewal(
    url: str, flavour: str, leased: bool
) -> None:
    """It keeps the revision that made it, yet nobody else counts it any more."""
    with fencepost.connect(url, ttl=LASTING) as other:
        lease = lease_of(other.keeper().holder) if leased else 0
        if flavour == "sync":
            with fencepost.connect(url, ttl=LASTING) as session:
                grant = session.lock("a").acquire()
                put(url, keys_of(url, "a")[0].key, lease=lease)
                assert other.lock("a").acquire(timeout=PATIENCE).token > grant.token
                renew(session)
                assert not grant.held
        else:
            async with fencepost.connect_async(url, ttl=LASTING) as asession:
                agrant = await asession.lock("a").acquire()
                put(url, keys_of(url, "a")[0].key, lease=lease)
                assert other.lock("a").acquire(timeout=PATIENCE).token > agrant.token
                await renew_async(asession)
                assert not agrant.held


@FLAVOURS
async def test_a_writer_whose_key_is_not_on_its_lease_any_more_does_not_go_on_as_a_reader(
    url: str, flavour: str
) -> None:
    """Its key would count again, before that of whoever holds the lock by now."""
    with fencepost.connect(url, ttl=LASTING) as other:
        if flavour == "sync":
            with fencepost.connect(url, ttl=LASTING) as session:
                rwlock = session.rwlock("a")
                written = rwlock.write().acquire()
                put(url, keys_of(url, "a")[0].key)
                held = other.lock("a").acquire(timeout=PATIENCE)
                with pytest.raises(fencepost.Lost):
                    rwlock.downgrade(written)
        else:
            async with fencepost.connect_async(url, ttl=LASTING) as asession:
                arwlock = asession.rwlock("a")
                awritten = await arwlock.write().acquire()
                put(url, keys_of(url, "a")[0].key)
                held = other.lock("a").acquire(timeout=PATIENCE)
                with pytest.raises(fencepost.Lost):
                    await arwlock.downgrade(awritten)
        assert [each.claim.token for each in other.look("a").holders] == [held.token]


# Those who wait


def holder_of(label: str) -> Holder:
    return Holder(secrets.token_hex(12), label)


def asked(holder: Holder, serial: int = 1, name: str = "a") -> Request:
    return Request(holder, serial, (Ask(name),))


def claim_of(request: Request, answer: object) -> Claim:
    assert isinstance(answer, Granted)
    return Claim(request.holder, request.serial, request.asks[0], answer.tokens[0])


whoever = pytest.mark.parametrize("on", ["no lease", "another lease", "its own lease"])


def overwrite(url: str, on: str, holder: Holder, waiter: Holder) -> None:
    """The key of the last in the queue."""
    lease = {"no lease": 0, "another lease": lease_of(holder), "its own lease": lease_of(waiter)}[on]
    put(url, keys_of(url, "a")[-1].key, lease=lease)


@whoever
def test_a_waiter_whose_key_was_written_anew_takes_another_place_and_its_lease_lives(url: str, on: str) -> None:
    engine = Engine(parse_url(url), clock=threads.BootClock(), patience=PATIENCE)
    holder, waiter = holder_of("holder"), holder_of("waiter")
    for each in (holder, waiter):
        engine.lease_open(each, LASTING)
    held = claim_of(asked(holder), engine.claim(asked(holder), wait=False))
    engine.claim(asked(waiter), wait=True)
    overwrite(url, on, holder, waiter)
    queued = engine.claim(asked(waiter), wait=True)
    assert isinstance(queued, Queued)
    engine.release(held)
    granted = claim_of(queued.request, engine.wait(queued, PATIENCE))
    assert [each.claim for each in engine.look("a").holders] == [granted]
    assert engine.look("a").waiters == ()
    assert engine.lease_renew(waiter, LASTING, [granted]).gone == ()
    assert engine.release(granted)
    engine.close()


@whoever
async def test_a_task_whose_waiting_key_was_written_anew_takes_another_place_and_its_lease_lives(
    url: str, on: str
) -> None:
    engine = AsyncEngine(parse_url(url), clock=aio.BootClock(), patience=PATIENCE)
    holder, waiter = holder_of("holder"), holder_of("waiter")
    for each in (holder, waiter):
        await engine.lease_open(each, LASTING)
    held = claim_of(asked(holder), await engine.claim(asked(holder), wait=False))
    await engine.claim(asked(waiter), wait=True)
    overwrite(url, on, holder, waiter)
    queued = await engine.claim(asked(waiter), wait=True)
    assert isinstance(queued, Queued)
    await engine.release(held)
    granted = claim_of(queued.request, await engine.wait(queued, PATIENCE))
    assert [each.claim for each in (await engine.look("a")).holders] == [granted]
    assert (await engine.look("a")).waiters == ()
    assert (await engine.lease_renew(waiter, LASTING, [granted])).gone == ()
    assert await engine.release(granted)
    await engine.close()


def test_a_waiter_whose_key_was_written_anew_on_its_own_lease_is_in_nobody_s_way_once_it_has_left(url: str) -> None:
    engine = Engine(parse_url(url), clock=threads.BootClock(), patience=PATIENCE)
    holder, waiter = holder_of("holder"), holder_of("waiter")
    for each in (holder, waiter):
        engine.lease_open(each, LASTING)
    held = claim_of(asked(holder), engine.claim(asked(holder), wait=False))
    engine.claim(asked(waiter), wait=True)
    overwrite(url, "its own lease", holder, waiter)
    engine.withdraw(asked(waiter))
    engine.release(held)
    assert keys_of(url, "a") == []
    engine.close()


@FLAVOURS
@pytest.mark.parametrize("wait", [False, True])
async def test_a_key_that_somebody_else_has_made_in_our_place_is_in_nobody_s_way(
    url: str, flavour: str, wait: bool
) -> None:
    """Whoever takes another place keeps what else it has."""
    timeout = PATIENCE if wait else 0
    if flavour == "sync":
        with fencepost.connect(url, ttl=LASTING) as session, session.lock("b") as other:
            put(url, f"a/{lease_of(session.keeper().holder):x}".encode())
            grant = session.lock("a").acquire(timeout=timeout)
            renew(session)
            assert grant.held
            assert other.held
    else:
        async with fencepost.connect_async(url, ttl=LASTING) as asession, asession.lock("b") as aother:
            put(url, f"a/{lease_of((await asession.keeper()).holder):x}".encode())
            agrant = await asession.lock("a").acquire(timeout=timeout)
            await renew_async(asession)
            assert agrant.held
            assert aother.held


@FLAVOURS
async def test_a_name_where_somebody_else_makes_all_our_keys_is_refused_and_no_other(url: str, flavour: str) -> None:
    def fill(lease: int) -> None:
        for suffix in (b"", *(b".%d" % slot for slot in range(1, 20))):
            put(url, b"a/%x%b" % (lease, suffix))

    if flavour == "sync":
        with fencepost.connect(url, ttl=LASTING) as session, session.lock("b") as other:
            fill(lease_of(session.keeper().holder))
            with pytest.raises(Refused, match="somebody else"):
                session.lock("a").acquire(timeout=PATIENCE)
            renew(session)
            assert other.held
    else:
        async with fencepost.connect_async(url, ttl=LASTING) as asession, asession.lock("b") as aother:
            fill(lease_of((await asession.keeper()).holder))
            with pytest.raises(Refused, match="somebody else"):
                await asession.lock("a").acquire(timeout=PATIENCE)
            await renew_async(asession)
            assert aother.held
