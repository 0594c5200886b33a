# Generated from src/fencepost/testing/contract/_async/meeting.py by tools/unasync.py. Do not edit: run `make gen`.
"""Barriers and latches: nobody goes on too early, and nobody waits for the dead."""

from collections.abc import Callable

import pytest

from fencepost._runtime import threads as runtime
from fencepost._runtime.clock import boottime
from fencepost.core.roster import Member, members
from fencepost.errors import AcquireTimeout, Conflict, FencepostError
from fencepost.primitives._sync.session import Session
from fencepost.session._sync.record import Record, Seen
from fencepost.testing.contract._sync.attempt import WITHIN, Attempt, until
from fencepost.testing.contract._sync.place import LASTING, STURDY, connect_faulty, connect_to, until_free
from fencepost.testing.contract.need import needs
from fencepost.testing.contract.site import Site


class ShiftedClock(runtime.BootClock):
    """A clock that the test sets ahead."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def now(self) -> float:
        return boottime() + self.ahead

    def wait(self, event: runtime.Event, until: float) -> bool:
        return super().wait(event, until - self.ahead)

    def alarm(self, at: float, callback: Callable[[], object]) -> runtime.Alarm:
        return super().alarm(at - self.ahead, callback)


class MeetingChapter:
    @needs("cells")
    def test_a_barrier_opens_when_all_are_there_again_and_again(self, site: Site) -> None:
        with connect_to(site) as first, connect_to(site, label="second") as second:
            for round in (1, 2):
                waiting = Attempt(first.barrier("b", 2).wait)
                _until_there(second, 1)
                assert not waiting.ended.is_set()
                assert second.barrier("b", 2).wait(timeout=WITHIN) == round
                assert waiting.outcome() == round

    @needs("cells")
    def test_whoever_waits_goes_on_when_the_engine_did_not_answer(self, site: Site) -> None:
        session, engine = connect_faulty(site, ttl=STURDY)
        with session, connect_to(site, label="second") as second:
            engine.refuse("cell_watch", 2)
            waiting = Attempt(lambda: session.barrier("b", 2).wait(timeout=WITHIN))
            engine.called("cell_watch", times=2)
            assert second.barrier("b", 2).wait(timeout=WITHIN) == 1
            assert waiting.outcome() == 1
            engine.calls.clear()
            engine.refuse("cell_watch", 2)
            opened = Attempt(lambda: session.latch("l", 1).wait(timeout=WITHIN))
            engine.called("cell_watch", times=2)
            second.latch("l", 1).count_down()
            opened.outcome()

    @needs("cells")
    def test_one_that_gives_up_at_a_barrier_does_not_count(self, site: Site) -> None:
        with connect_to(site) as first, connect_to(site, label="second") as second:
            with pytest.raises(AcquireTimeout, match="1 of 2 are there"):
                first.barrier("b", 2).wait(timeout=0.1)
            with pytest.raises(AcquireTimeout, match="1 of 2 are there"):
                second.barrier("b", 2).wait(timeout=0.1)
            assert second.names() == []

    @needs("cells")
    def test_one_whose_time_is_over_as_the_last_arrives_passes_with_it(self, site: Site) -> None:
        clock = ShiftedClock()
        with connect_to(site, clock=clock) as first, connect_to(site, label="second") as second:
            barrier = first.barrier("b", 2)
            record = barrier._roster.record
            look = record.next
            passed: list[int] = []

            def late(version: int, timeout: float) -> Seen:
                """What it looked like just before the other came, told when the time is over."""
                seen = look(version, 0.0)
                if not passed:
                    passed.append(second.barrier("b", 2).wait(timeout=WITHIN))
                    clock.ahead = LASTING / 4
                return seen

            record.next = late  # type: ignore[method-assign]
            assert barrier.wait(timeout=LASTING / 4) == passed[0] == 1

    @needs("cells")
    def test_one_that_is_cut_off_at_a_barrier_does_not_count(self, site: Site) -> None:
        session, engine = connect_faulty(site)
        with session, connect_to(site, label="second") as second:
            gone = Attempt(session.barrier("b", 2).wait)

            seen: tuple[Member, ...] = ()

            def there() -> bool:
                nonlocal seen
                seen = _there(second)
                # Or gone too early, since a busy machine lost its short lease.
                return len(seen) == 1 or gone.ended.is_set()

            until(there)
            engine.cut()
            for member in seen:
                until_free(second, f"b/{member.id}")
            with pytest.raises(AcquireTimeout, match="1 of 2 are there"):
                second.barrier("b", 2).wait(timeout=0.1)
            engine.heal()
            with pytest.raises(FencepostError):
                gone.outcome()

    @needs("cells")
    def test_a_barrier_for_another_number_is_a_conflict(self, site: Site) -> None:
        with connect_to(site) as first, connect_to(site, label="second") as second:
            waiting = Attempt(lambda: first.barrier("b", 2).wait(timeout=WITHIN))
            _until_there(second, 1)
            with pytest.raises(Conflict, match="waits for 2, not for 3"):
                second.barrier("b", 3).wait(timeout=WITHIN)
            second.barrier("b", 2).wait(timeout=WITHIN)
            waiting.outcome()

    @needs("cells")
    def test_a_latch_opens_when_it_has_counted_down_and_stays_open(self, site: Site) -> None:
        with connect_to(site) as first, connect_to(site, label="second") as second:
            latch = first.latch("l", 3)
            waiting = Attempt(second.latch("l", 3).wait)
            assert latch.count_down() == 2
            with pytest.raises(AcquireTimeout, match="2 of 3 steps are left"):
                latch.wait(timeout=0)
            assert not waiting.ended.is_set()
            assert second.latch("l", 3).count_down(5) == 0
            waiting.outcome()
            assert latch.count_down() == 0
            latch.wait(timeout=0)
            assert latch.remaining() == 0

    @needs("cells")
    def test_a_latch_that_counts_from_another_number_is_a_conflict(self, site: Site) -> None:
        with connect_to(site) as session:
            session.latch("l", 3).count_down()
            with pytest.raises(Conflict, match="counts from 3, not from 4"):
                session.latch("l", 4).count_down()


def _there(session: Session) -> tuple[Member, ...]:
    """Those who have arrived. Who is about to holds its name already, and counts a little later."""
    return tuple(members((Record(session, "barrier/b").read()).document))


def _until_there(session: Session, count: int) -> None:
    def there() -> bool:
        return len(_there(session)) == count

    until(there)
