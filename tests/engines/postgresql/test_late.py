"""What is asked of table leases and carried out late, when nobody waits for it any more: without effect."""

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import fencepost
from fencepost import Unavailable
from fencepost.contract.answer import Granted, Queued
from fencepost.core.claim import Ask, Claim, Mode, Request
from fencepost.engines.postgresql._async.engine import AsyncPostgresqlEngine
from fencepost.engines.postgresql._sync.engine import PostgresqlEngine
from fencepost.testing.condition import until
from fencepost.testing.postgresql import query
from tests.support.engine import engine_as
from tests.support.patience import connect, connect_async

from .conftest import at

ASKS = {
    "alone": (Ask("a"),),
    "shared": (Ask("a", mode=Mode.SHARED),),
    "counted": (Ask("a", mode=Mode.COUNTED, limit=1),),
    "two names": (Ask("a"), Ask("b")),
}
STANDING = "SELECT name, serial, token IS NOT NULL FROM fencepost.claim ORDER BY name, ticket"


@pytest.fixture
def session(port: int) -> Iterator[fencepost.Session]:
    with connect(at(port), ttl=300, patience=60) as session:
        session.lock("warm").acquire().release()
        yield session


@pytest.fixture
def other(port: int) -> Iterator[fencepost.Session]:
    with fencepost.connect(at(port), ttl=300) as other:
        other.lock("warm").acquire().release()
        yield other


def stop(pid: int) -> None:
    os.kill(pid, signal.SIGSTOP)
    until(lambda: Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T")


@contextmanager
def late(session: fencepost.Session, port: int, ask: Callable[[], object]) -> Iterator[None]:
    """Its backend stands still, so what is asked is answered by nobody; it is carried out as the block is left."""
    pool = engine_as(session, PostgresqlEngine)._store._pool
    connection, pid = pool._free[-1], pool._free[-1].pid
    # Nothing is prepared there: else that is what would be late.
    connection.pooled = True
    stop(pid)
    try:
        patience, pool._milliseconds = pool._milliseconds, 300
        with pytest.raises(Unavailable, match="did not answer"):
            ask()
        pool._milliseconds = patience
        yield
    finally:
        os.kill(pid, signal.SIGCONT)
    # It finds the end of its connection behind what it was asked.
    until(lambda: not query(port, f"SELECT 1 FROM pg_stat_activity WHERE pid = {pid}"))


def claims_of(request: Request, granted: object) -> list[Claim]:
    assert isinstance(granted, Granted)
    pairs = zip(request.asks, granted.tokens, strict=True)
    return [Claim(request.holder, request.serial, ask, token) for ask, token in pairs]


@pytest.mark.parametrize("wait", [True, False], ids=["waits", "tries"])
@pytest.mark.parametrize("asks", ASKS.values(), ids=ASKS)
def test_a_claim_after_its_withdrawal(session: fencepost.Session, port: int, asks: tuple[Ask, ...], wait: bool) -> None:
    request = session.keeper().request(asks)
    with late(session, port, lambda: session.engine.claim(request, wait=wait)):
        session.engine.withdraw(request)
    assert query(port, STANDING) == []


@pytest.mark.parametrize("asks", ASKS.values(), ids=ASKS)
def test_a_claim_after_its_place_in_the_queue_was_left(
    session: fencepost.Session, other: fencepost.Session, port: int, asks: tuple[Ask, ...]
) -> None:
    held = other.lock("a").acquire()
    request = session.keeper().request(asks)
    assert isinstance(session.engine.claim(request, wait=True), Queued)
    with late(session, port, lambda: session.engine.claim(request, wait=True)):
        session.engine.withdraw(request)
    held.release()
    assert query(port, STANDING) == []


@pytest.mark.parametrize("asks", ASKS.values(), ids=ASKS)
def test_a_claim_after_it_was_asked_again_and_released(
    session: fencepost.Session, port: int, asks: tuple[Ask, ...]
) -> None:
    request = session.keeper().request(asks)
    with late(session, port, lambda: session.engine.claim(request, wait=True)):
        held = claims_of(request, session.engine.claim(request, wait=True))
        assert set(session.engine.release_all(held) if len(held) > 1 else [session.engine.release(held[0])]) == {True}
    assert query(port, STANDING) == []


def test_a_claim_after_one_of_its_names_was_released(
    session: fencepost.Session, other: fencepost.Session, port: int
) -> None:
    request = session.keeper().request((Ask("a"), Ask("b")))
    with late(session, port, lambda: session.engine.claim(request, wait=True)):
        first, _ = claims_of(request, session.engine.claim(request, wait=True))
        assert session.engine.release(first)
        theirs = other.lock("a").acquire(timeout=0)
        waiting = other.keeper().request((Ask("b"),))
        assert isinstance(other.engine.claim(waiting, wait=True), Queued)
    # All or none, it would give the other name to whoever waits for it.
    assert theirs.held
    assert [each.claim.holder for each in other.look("b").holders] == [request.holder]


def test_a_claim_after_it_was_asked_again_and_evicted(
    session: fencepost.Session, other: fencepost.Session, port: int
) -> None:
    request = session.keeper().request((Ask("a"),))
    with late(session, port, lambda: session.engine.claim(request, wait=True)):
        assert isinstance(session.engine.claim(request, wait=True), Granted)
        assert len(other.evict("a")) == 1
    assert query(port, STANDING) == []


def test_a_claim_that_would_not_have_waited_leaves_the_place_of_one_that_does(
    session: fencepost.Session, other: fencepost.Session, port: int
) -> None:
    held = other.lock("a").acquire()
    request = session.keeper().request((Ask("a"),))
    with late(session, port, lambda: session.engine.claim(request, wait=False)):
        queued = session.engine.claim(request, wait=True)
        assert isinstance(queued, Queued)
    assert query(port, STANDING)[1:] == [("a", request.serial, False)]
    held.release()
    assert isinstance(session.engine.wait(queued, 60), Granted)


def test_a_claim_overtaken_by_the_withdrawal_of_another_request_is_asked_again(
    session: fencepost.Session, other: fencepost.Session, port: int
) -> None:
    keeper, engine = session.keeper(), engine_as(session, PostgresqlEngine)
    given_up, meant = keeper.request((Ask("a"),)), keeper.request((Ask("b"),))
    with late(session, port, lambda: engine.claim(given_up, wait=True)):
        engine.withdraw(given_up)
        # As another engine that speaks for the same holder, and does not know of that.
        engine._epoch = type(engine._epoch)()
        assert isinstance(engine.claim(meant, wait=True), Granted)
    assert query(port, STANDING) == [("b", meant.serial, True)]


def test_what_was_given_up_leaves_nothing_that_grows(session: fencepost.Session, port: int) -> None:
    for _ in range(3):
        request = session.keeper().request((Ask("a"),))
        with late(session, port, lambda request=request: session.engine.claim(request, wait=True)):  # type: ignore[misc]
            session.engine.withdraw(request)
    assert not engine_as(session, PostgresqlEngine)._epoch._unanswered
    assert query(port, "SELECT epoch FROM fencepost.lease ORDER BY epoch DESC LIMIT 1") == [(3,)]


def test_a_release(session: fencepost.Session, other: fencepost.Session, port: int) -> None:
    request = session.keeper().request((Ask("a"),))
    (held,) = claims_of(request, session.engine.claim(request, wait=False))
    with late(session, port, lambda: session.engine.release(held)):
        session.engine.release(held)
        theirs = other.lock("a").acquire(timeout=0)
    assert [each.claim.token for each in session.look("a").holders] == [theirs.token]


def test_a_downgrade(session: fencepost.Session, other: fencepost.Session, port: int) -> None:
    request = session.keeper().request((Ask("a"),))
    (held,) = claims_of(request, session.engine.claim(request, wait=False))
    with late(session, port, lambda: session.engine.share(held)):
        session.engine.release(held)
        other.lock("a").acquire(timeout=0)
    assert session.rwlock("a").read().try_acquire() is None


def test_a_withdrawal(session: fencepost.Session, port: int) -> None:
    first, second = session.keeper().request((Ask("a"),)), session.keeper().request((Ask("a"),))
    assert isinstance(session.engine.claim(first, wait=False), Granted)
    with late(session, port, lambda: session.engine.withdraw(first)):
        session.engine.withdraw(first)
        assert isinstance(session.engine.claim(second, wait=False), Granted)
    assert query(port, STANDING) == [("a", second.serial, True)]


def test_a_renewal_after_the_lease_was_closed(session: fencepost.Session, port: int) -> None:
    holder = session.keeper().holder
    with late(session, port, lambda: session.engine.lease_renew(holder, 300, [])):
        session.engine.lease_close(holder)
    assert query(port, f"SELECT 1 FROM fencepost.lease WHERE id = '{holder.id}' AND expires_at > '-infinity'") == []


@pytest.mark.parametrize("asks", ASKS.values(), ids=ASKS)
async def test_a_claim_whose_task_was_cancelled_in_the_queue(
    other: fencepost.Session, port: int, asks: tuple[Ask, ...]
) -> None:
    held = other.lock("a").acquire()
    async with connect_async(at(port), ttl=300, patience=60) as session:
        keeper, engine = await session.keeper(), engine_as(session, AsyncPostgresqlEngine)
        # Two connections: else the withdrawal would wait behind the claim.
        await asyncio.gather(engine.look("a"), engine.look("a"))
        request = keeper.request(asks)
        assert isinstance(await engine.claim(request, wait=True), Queued)
        connection = engine._store._pool._free[-1]
        # Nothing is prepared there: else that is what would be late.
        connection.pooled = True
        stop(connection.pid)
        try:
            asking = asyncio.ensure_future(engine.claim(request, wait=True))
            while not connection._owing:
                await asyncio.sleep(0)
            asking.cancel()
            await asyncio.wait([asking])
            await engine.withdraw(request)
        finally:
            os.kill(connection.pid, signal.SIGCONT)
        assert await connection.finish(asyncio.get_running_loop().time() + 60) is not None
        held.release()
        assert query(port, STANDING) == []


def evicted_before_it_heard(port: int, request: Request) -> None:
    """Somebody has the name who came later, and the message of the grant that was taken away is on its way."""
    query(port, "SELECT fencepost.evict('a', 'operator', 1000)")
    assert query(port, "SELECT 1 FROM fencepost.claim WHERE holder = %s", request.holder.id) == []


@pytest.mark.parametrize("priority", [0, 3])
def test_the_news_of_a_grant_that_was_evicted_before_it_was_heard(
    session: fencepost.Session, other: fencepost.Session, port: int, priority: int
) -> None:
    held = other.lock("a").acquire()
    request = session.keeper().request((Ask("a"),), priority)
    assert isinstance(session.engine.claim(request, wait=True), Queued)
    held.release()
    evicted_before_it_heard(port, request)
    theirs = other.lock("a").acquire()
    # It looks for itself, and has another place from here on.
    queued = session.engine.claim(request, wait=True)
    assert isinstance(queued, Queued)
    answer = session.engine.wait(queued, 0.3)
    assert isinstance(answer, Queued)
    theirs.release()
    granted = session.engine.wait(answer, 60)
    assert isinstance(granted, Granted)
    assert granted.tokens[0] > theirs.token
    session.engine.withdraw(request)


async def test_the_news_of_a_grant_that_was_evicted_before_a_task_heard_it(other: fencepost.Session, port: int) -> None:
    held = other.lock("a").acquire()
    async with connect_async(at(port), ttl=300, patience=60) as session:
        request = (await session.keeper()).request((Ask("a"),))
        queued = await session.engine.claim(request, wait=True)
        assert isinstance(queued, Queued)
        held.release()
        evicted_before_it_heard(port, request)
        theirs = other.lock("a").acquire()
        queued = await session.engine.claim(request, wait=True)
        assert isinstance(queued, Queued)
        while not queued.place.news:
            await asyncio.sleep(0.001)
        answer = await session.engine.wait(queued, 0.3)
        assert isinstance(answer, Queued)
        theirs.release()
        granted = await session.engine.wait(answer, 60)
        assert isinstance(granted, Granted)
        assert granted.tokens[0] > theirs.token
        await session.engine.withdraw(request)
