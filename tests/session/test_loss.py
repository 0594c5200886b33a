"""Who is told of a loss, in which order, and whatever comes in between."""

import itertools
import threading
from collections.abc import Iterator
from functools import partial

import pytest

import fencepost
from fencepost._runtime import threads
from fencepost.core import event
from tests.support.interruption import interrupt_at

pytestmark = pytest.mark.unit


@pytest.fixture
def session() -> Iterator[fencepost.Session]:
    with fencepost.connect("memory://", ttl=60) as session:
        yield session


def test_a_listener_that_takes_long_delays_the_news_of_no_other_grant(session: fencepost.Session) -> None:
    over = threading.Event()
    session.subscribe(lambda _: over.wait(), event.Lost)
    grants = [session.lock(name).acquire() for name in "abc"]
    keeper = session.keeper()
    loser = threading.Thread(target=keeper.lose, args=["told so by the test"], daemon=True)
    loser.start()
    try:
        assert all(grant.lost.wait(20.0) for grant in grants)
        assert keeper.lost.wait(20.0)
        assert loser.is_alive()
    finally:
        over.set()
        loser.join(20.0)


def test_a_listener_that_takes_long_delays_the_news_of_no_other_eviction(session: fencepost.Session) -> None:
    over = threading.Event()
    session.subscribe(lambda _: over.wait(), event.Lost)
    grants = [session.lock(name).acquire() for name in "ab"]
    keeper = session.keeper()
    for name in "ab":
        session.evict(name)
    renewal = threading.Thread(target=keeper._renew, daemon=True)
    renewal.start()
    try:
        assert all(grant.lost.wait(20.0) for grant in grants)
    finally:
        over.set()
        renewal.join(20.0)


def test_every_grant_is_told_wherever_whoever_told_them_was_interrupted(session: fencepost.Session) -> None:
    for point in itertools.count():
        grants = [session.lock(name).acquire() for name in "ab"]
        told = [grant.lost for grant in grants]
        keeper = session.keeper()
        where = interrupt_at(point, partial(keeper.lose, "told so by the test"))
        # The alarm comes at the end of the lease, if nobody cancelled it.
        assert isinstance(keeper._alarm, threads._Alarm)
        if keeper._alarm.callback is not None:
            keeper._ring()
        if keeper._end is None:
            keeper.lose("told so again")
        assert [each.is_set() for each in told] == [True, True], where
        keeper.close(keeper.now() + 1.0)
        if where is None:
            break
    assert point > 5


def test_two_threads_that_ask_for_the_news_at_the_same_time_hear_it_both(session: fencepost.Session) -> None:
    grant = session.lock("a").acquire()
    asked = grant.lost
    # As the second finds it that looked before the first had made one.
    grant._lost.append(type(asked)())
    assert grant.lost is asked
    session.keeper().lose("told so by the test")
    assert asked.is_set()


def test_a_lost_grant_is_announced_once_also_if_it_was_forfeited_before(session: fencepost.Session) -> None:
    happened: list[event.Event] = []
    session.subscribe(happened.append, event.Lost)
    grant = session.lock("a").acquire()
    grant.forfeit("given up by the test")
    session.keeper().lose("told so by the test")
    assert [each.reason for each in happened if isinstance(each, event.Lost)] == ["given up by the test"]


def test_a_downgrade_that_the_engine_refuses_loses_the_grant(session: fencepost.Session) -> None:
    lock = session.rwlock("a")
    grant = lock.write().acquire()
    session.evict("a")
    with pytest.raises(fencepost.Lost, match="the engine no longer had it"):
        lock.downgrade(grant)
    assert not grant.held
    assert grant.lost.is_set()
    assert session.statistics().lost == 1
    with pytest.raises(fencepost.Lost):
        grant.release()


async def test_a_downgrade_that_is_refused_ends_the_block_with_lost() -> None:
    async with fencepost.connect_async("memory://") as session:
        lock = session.rwlock("a")
        with pytest.raises(fencepost.Lost, match="the engine no longer had it"):
            async with lock.write() as grant:
                await session.evict("a")
                await lock.downgrade(grant)
