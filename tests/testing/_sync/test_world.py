# Generated from tests/testing/_async/test_world.py by tools/unasync.py. Do not edit: run `make gen`.
"""The virtual world: what happens to sessions in it, and that it takes no real time."""

from collections.abc import Iterator

import pytest

from fencepost import AcquireTimeout, Lost, Standing, Unavailable
from fencepost._runtime import threads as runtime
from fencepost._runtime.clock import boottime
from fencepost.core import event
from fencepost.testing._sync.lane import Lane, is_keeper
from fencepost.testing._sync.world import World
from fencepost.testing.contract._sync.attempt import Attempt
from tests.support.now import now

pytestmark = pytest.mark.unit


@pytest.fixture
def world() -> Iterator[World]:
    with World() as world:
        yield world


def test_a_lease_is_renewed_through_an_hour_that_takes_no_time(world: World) -> None:
    with world.connect() as session, session.lock("a") as grant:
        began_at = boottime()
        world.advance(3600)
        assert grant.held
        assert session.statistics().renewals > 1000
        assert boottime() - began_at < 600


def test_no_time_passes_before_a_slow_keeper_has_begun(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait = Lane.wait

    def wait_later(lane: Lane, event: runtime.Event, until: float) -> bool:
        if is_keeper(runtime.current_flow()):
            runtime.sleep(0.02)
        return wait(lane, event, until)

    monkeypatch.setattr(Lane, "wait", wait_later)
    with world.connect() as session, session.lock("a") as grant:
        world.advance(30)
        assert grant.held


def test_time_moves_by_exactly_what_is_asked(world: World) -> None:
    before = world.clock.now()
    with world.connect():
        world.advance(12.5)
        world.advance(0)
    assert world.clock.now() == before + 12.5


def test_an_expired_holder_learns_of_it_by_its_own_deadline_before_the_next_is_granted(
    world: World,
) -> None:
    with world.connect(holder="old") as old, world.connect(holder="new") as new:
        first = old.lock("a").acquire()
        told: list[float] = []
        old.subscribe(lambda _: told.append(world.clock.now()), event.LeaseLost)
        began_at = world.clock.now()
        attempt = Attempt(new.lock("a").acquire)
        world.until_waiting("a")
        world.expire("a")
        second = attempt.outcome()
        assert second.token > first.token
        assert first.lost.is_set()
        with pytest.raises(Lost, match="its lease of 10 s was not renewed in time"):
            first.check()
        assert began_at < told[0] < second.granted_at == began_at + 10


def test_expiry_disturbs_no_other_session(world: World) -> None:
    with world.connect(holder="old") as old, world.connect(holder="other", ttl=3) as other:
        old.lock("a").acquire()
        kept = other.lock("b").acquire()
        world.expire("a")
        world.advance(60)
        assert kept.held
        assert other.statistics().failed_renewals == 0


def test_who_expired_can_go_on_with_a_new_lease(world: World) -> None:
    with world.connect() as session:
        first = session.lock("a").acquire()
        world.expire("a")
        second = session.lock("a").acquire()
        world.advance(60)
        assert second.held
        assert second.token > first.token


def test_every_reader_expires_with_a_name(world: World) -> None:
    with world.connect() as one, world.connect(ttl=20) as two:
        grants = [session.rwlock("a").read().acquire() for session in (one, two)]
        world.expire("a")
        assert [grant.held for grant in grants] == [False, False]
        assert (world.look("a")).holders == ()


def test_expiring_what_nobody_holds_is_an_error(world: World) -> None:
    with pytest.raises(LookupError, match="nobody holds 'a'"):
        world.expire("a")


def test_a_paused_holder_finds_its_lock_lost_when_it_resumes(world: World) -> None:
    with world.connect(holder="slow") as slow, world.connect(holder="quick") as quick:
        grant = slow.lock("a").acquire()
        lost = grant.lost
        world.pause("slow")
        world.advance(30)
        # As under SIGSTOP nobody runs who could be told.
        assert not lost.is_set()
        assert slow.statistics().failed_renewals == 0
        newer = quick.lock("a").acquire(timeout=0)
        world.resume(slow)
        assert lost.is_set()
        with pytest.raises(Lost):
            grant.check()
        assert newer.held


def test_a_pause_shorter_than_the_lease_loses_nothing(world: World) -> None:
    with world.connect(ttl=10) as session:
        grant = session.lock("a").acquire()
        world.pause(grant)
        world.advance(9)
        world.resume(grant.holder)
        world.advance(60)
        assert grant.held


def test_calls_of_a_paused_session_get_nowhere_until_it_resumes(world: World) -> None:
    with world.connect(holder="slow") as slow:
        world.pause(slow)
        attempt = Attempt(slow.lock("a").acquire)
        world.faults(slow).called("claim")
        world.advance(1)
        assert (world.look("a")).holders == ()
        world.resume(slow)
        assert (attempt.outcome()).held


def test_a_waiter_that_is_granted_while_paused_runs_when_it_resumes(world: World) -> None:
    with world.connect(holder="one") as one, world.connect(holder="two") as two:
        first = one.lock("a").acquire()
        attempt = Attempt(two.lock("a").acquire)
        world.until_waiting("a")
        world.pause(two)
        first.release()
        world.clock.settle()
        assert not attempt.ended.is_set()
        world.resume(two)
        assert (attempt.outcome()).held


def test_the_test_itself_can_not_call_a_session_that_it_paused(world: World) -> None:
    with world.connect() as session:
        world.pause(session)
        with pytest.raises(RuntimeError, match="paused"):
            session.look("a")
        world.resume(session)


def test_when_the_test_itself_waits_time_passes_by_itself(world: World) -> None:
    with world.connect(holder="one") as one, world.connect(holder="two") as two, one.lock("a"):
        began_at, really_began_at = world.clock.now(), boottime()
        with pytest.raises(AcquireTimeout, match=r"not acquired in 600\.0 s: held by one"):
            two.lock("a").acquire(timeout=600)
        assert world.clock.now() == began_at + 600
        assert boottime() - really_began_at < 100


def test_a_cut_is_jeopardy_first_and_loss_at_the_end_of_the_lease(world: World) -> None:
    with world.connect(ttl=10) as session:
        grant = session.lock("a").acquire()
        world.cut()
        world.advance(5)
        assert now(grant.standing) is Standing.JEOPARDY
        with pytest.raises(Unavailable):
            session.look("a")
        world.advance(5)
        assert grant.standing is Standing.LOST


def test_a_cut_that_heals_in_time_loses_nothing(world: World) -> None:
    with world.connect(ttl=10) as session:
        grant = session.lock("a").acquire()
        world.cut(session)
        world.advance(6)
        world.heal()
        world.advance(60)
        assert grant.standing is Standing.HELD


def test_a_cut_of_one_session_leaves_the_others_alone(world: World) -> None:
    with world.connect(holder="one") as one, world.connect(holder="two") as two:
        mine = one.lock("a").acquire()
        yours = two.lock("b").acquire()
        world.cut("one")
        world.advance(30)
        assert (mine.held, yours.held) == (False, True)


def test_a_lost_reply_is_settled_without_a_second_grant(world: World) -> None:
    with world.connect() as session:
        world.faults(session).lose_reply("claim")
        grant = session.lock("a").acquire(timeout=5)
        assert [standing.claim.token for standing in (world.look("a")).holders] == [grant.token]


def test_whoever_is_not_in_the_world_can_not_be_harmed(world: World) -> None:
    with world.connect(holder="one"):
        with pytest.raises(LookupError, match="'two' is not in this world, which has 'one'"):
            world.cut("two")


def test_two_worlds_do_not_meet(world: World) -> None:
    with World() as other, world.connect() as here, other.connect() as there:
        assert here.lock("a").try_acquire() is not None
        assert there.lock("a").try_acquire() is not None


def test_a_world_that_closes_leaves_nobody_behind() -> None:
    with World() as world:
        session = world.connect()
        session.lock("a").acquire()
        world.pause(session)
        world.cut()
    assert (world.look("a")).holders == ()
