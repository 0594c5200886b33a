# Written by hand; the blocking twin under _sync is generated from it.
"""The virtual world: what happens to sessions in it, and that it takes no real time."""

from collections.abc import AsyncIterator

import pytest

from fencepost import AcquireTimeout, Lost, Standing, Unavailable
from fencepost._runtime import aio as runtime
from fencepost._runtime.clock import boottime
from fencepost.core import event
from fencepost.testing._async.lane import AsyncLane, is_keeper
from fencepost.testing._async.world import AsyncWorld
from fencepost.testing.contract._async.attempt import AsyncAttempt
from tests.support.now import now

pytestmark = pytest.mark.unit


@pytest.fixture
async def world() -> AsyncIterator[AsyncWorld]:
    async with AsyncWorld() as world:
        yield world


async def test_a_lease_is_renewed_through_an_hour_that_takes_no_time(world: AsyncWorld) -> None:
    async with world.connect() as session, session.lock("a") as grant:
        began_at = boottime()
        await world.advance(3600)
        assert grant.held
        assert session.statistics().renewals > 1000
        assert boottime() - began_at < 600


async def test_no_time_passes_before_a_slow_keeper_has_begun(
    world: AsyncWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait = AsyncLane.wait

    async def wait_later(lane: AsyncLane, event: runtime.Event, until: float) -> bool:
        if is_keeper(runtime.current_flow()):
            await runtime.sleep(0.02)
        return await wait(lane, event, until)

    monkeypatch.setattr(AsyncLane, "wait", wait_later)
    async with world.connect() as session, session.lock("a") as grant:
        await world.advance(30)
        assert grant.held


async def test_time_moves_by_exactly_what_is_asked(world: AsyncWorld) -> None:
    before = world.clock.now()
    async with world.connect():
        await world.advance(12.5)
        await world.advance(0)
    assert world.clock.now() == before + 12.5


async def test_an_expired_holder_learns_of_it_by_its_own_deadline_before_the_next_is_granted(
    world: AsyncWorld,
) -> None:
    async with world.connect(holder="old") as old, world.connect(holder="new") as new:
        first = await old.lock("a").acquire()
        told: list[float] = []
        old.subscribe(lambda _: told.append(world.clock.now()), event.LeaseLost)
        began_at = world.clock.now()
        attempt = AsyncAttempt(new.lock("a").acquire)
        await world.until_waiting("a")
        await world.expire("a")
        second = await attempt.outcome()
        assert second.token > first.token
        assert first.lost.is_set()
        with pytest.raises(Lost, match="its lease of 10 s was not renewed in time"):
            first.check()
        assert began_at < told[0] < second.granted_at == began_at + 10


async def test_expiry_disturbs_no_other_session(world: AsyncWorld) -> None:
    async with world.connect(holder="old") as old, world.connect(holder="other", ttl=3) as other:
        await old.lock("a").acquire()
        kept = await other.lock("b").acquire()
        await world.expire("a")
        await world.advance(60)
        assert kept.held
        assert other.statistics().failed_renewals == 0


async def test_who_expired_can_go_on_with_a_new_lease(world: AsyncWorld) -> None:
    async with world.connect() as session:
        first = await session.lock("a").acquire()
        await world.expire("a")
        second = await session.lock("a").acquire()
        await world.advance(60)
        assert second.held
        assert second.token > first.token


async def test_every_reader_expires_with_a_name(world: AsyncWorld) -> None:
    async with world.connect() as one, world.connect(ttl=20) as two:
        grants = [await session.rwlock("a").read().acquire() for session in (one, two)]
        await world.expire("a")
        assert [grant.held for grant in grants] == [False, False]
        assert (await world.look("a")).holders == ()


async def test_expiring_what_nobody_holds_is_an_error(world: AsyncWorld) -> None:
    with pytest.raises(LookupError, match="nobody holds 'a'"):
        await world.expire("a")


async def test_a_paused_holder_finds_its_lock_lost_when_it_resumes(world: AsyncWorld) -> None:
    async with world.connect(holder="slow") as slow, world.connect(holder="quick") as quick:
        grant = await slow.lock("a").acquire()
        lost = grant.lost
        await world.pause("slow")
        await world.advance(30)
        # As under SIGSTOP nobody runs who could be told.
        assert not lost.is_set()
        assert slow.statistics().failed_renewals == 0
        newer = await quick.lock("a").acquire(timeout=0)
        await world.resume(slow)
        assert lost.is_set()
        with pytest.raises(Lost):
            grant.check()
        assert newer.held


async def test_a_pause_shorter_than_the_lease_loses_nothing(world: AsyncWorld) -> None:
    async with world.connect(ttl=10) as session:
        grant = await session.lock("a").acquire()
        await world.pause(grant)
        await world.advance(9)
        await world.resume(grant.holder)
        await world.advance(60)
        assert grant.held


async def test_calls_of_a_paused_session_get_nowhere_until_it_resumes(world: AsyncWorld) -> None:
    async with world.connect(holder="slow") as slow:
        await world.pause(slow)
        attempt = AsyncAttempt(slow.lock("a").acquire)
        await world.faults(slow).called("claim")
        await world.advance(1)
        assert (await world.look("a")).holders == ()
        await world.resume(slow)
        assert (await attempt.outcome()).held


async def test_a_waiter_that_is_granted_while_paused_runs_when_it_resumes(world: AsyncWorld) -> None:
    async with world.connect(holder="one") as one, world.connect(holder="two") as two:
        first = await one.lock("a").acquire()
        attempt = AsyncAttempt(two.lock("a").acquire)
        await world.until_waiting("a")
        await world.pause(two)
        await first.release()
        await world.clock.settle()
        assert not attempt.ended.is_set()
        await world.resume(two)
        assert (await attempt.outcome()).held


async def test_the_test_itself_can_not_call_a_session_that_it_paused(world: AsyncWorld) -> None:
    async with world.connect() as session:
        await world.pause(session)
        with pytest.raises(RuntimeError, match="paused"):
            await session.look("a")
        await world.resume(session)


async def test_when_the_test_itself_waits_time_passes_by_itself(world: AsyncWorld) -> None:
    async with world.connect(holder="one") as one, world.connect(holder="two") as two, one.lock("a"):
        began_at, really_began_at = world.clock.now(), boottime()
        with pytest.raises(AcquireTimeout, match=r"not acquired in 600\.0 s: held by one"):
            await two.lock("a").acquire(timeout=600)
        assert world.clock.now() == began_at + 600
        assert boottime() - really_began_at < 100


async def test_a_cut_is_jeopardy_first_and_loss_at_the_end_of_the_lease(world: AsyncWorld) -> None:
    async with world.connect(ttl=10) as session:
        grant = await session.lock("a").acquire()
        world.cut()
        await world.advance(5)
        assert now(grant.standing) is Standing.JEOPARDY
        with pytest.raises(Unavailable):
            await session.look("a")
        await world.advance(5)
        assert grant.standing is Standing.LOST


async def test_a_cut_that_heals_in_time_loses_nothing(world: AsyncWorld) -> None:
    async with world.connect(ttl=10) as session:
        grant = await session.lock("a").acquire()
        world.cut(session)
        await world.advance(6)
        world.heal()
        await world.advance(60)
        assert grant.standing is Standing.HELD


async def test_a_cut_of_one_session_leaves_the_others_alone(world: AsyncWorld) -> None:
    async with world.connect(holder="one") as one, world.connect(holder="two") as two:
        mine = await one.lock("a").acquire()
        yours = await two.lock("b").acquire()
        world.cut("one")
        await world.advance(30)
        assert (mine.held, yours.held) == (False, True)


async def test_a_lost_reply_is_settled_without_a_second_grant(world: AsyncWorld) -> None:
    async with world.connect() as session:
        world.faults(session).lose_reply("claim")
        grant = await session.lock("a").acquire(timeout=5)
        assert [standing.claim.token for standing in (await world.look("a")).holders] == [grant.token]


async def test_whoever_is_not_in_the_world_can_not_be_harmed(world: AsyncWorld) -> None:
    async with world.connect(holder="one"):
        with pytest.raises(LookupError, match="'two' is not in this world, which has 'one'"):
            world.cut("two")


async def test_two_worlds_do_not_meet(world: AsyncWorld) -> None:
    async with AsyncWorld() as other, world.connect() as here, other.connect() as there:
        assert await here.lock("a").try_acquire() is not None
        assert await there.lock("a").try_acquire() is not None


async def test_a_world_that_closes_leaves_nobody_behind() -> None:
    async with AsyncWorld() as world:
        session = world.connect()
        await session.lock("a").acquire()
        await world.pause(session)
        world.cut()
    assert (await world.look("a")).holders == ()
