# Written by hand; the blocking twin under _sync is generated from it.
"""Barriers and latches: nobody goes on too early, and nobody waits for the dead."""

from collections.abc import Callable

import pytest

from fencepost._runtime import aio as runtime
from fencepost._runtime.clock import boottime
from fencepost.core.roster import Member, members
from fencepost.errors import AcquireTimeout, Conflict, FencepostError
from fencepost.primitives._async.session import AsyncSession
from fencepost.session._async.record import AsyncRecord, Seen
from fencepost.testing.contract._async.attempt import WITHIN, AsyncAttempt, until
from fencepost.testing.contract._async.place import LASTING, STURDY, connect_faulty, connect_to, until_free
from fencepost.testing.contract.need import needs
from fencepost.testing.contract.site import Site


class AsyncShiftedClock(runtime.BootClock):
    """A clock that the test sets ahead."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def now(self) -> float:
        return boottime() + self.ahead

    async def wait(self, event: runtime.Event, until: float) -> bool:
        return await super().wait(event, until - self.ahead)

    def alarm(self, at: float, callback: Callable[[], object]) -> runtime.Alarm:
        return super().alarm(at - self.ahead, callback)


class AsyncMeetingChapter:
    @needs("cells")
    async def test_a_barrier_opens_when_all_are_there_again_and_again(self, site: Site) -> None:
        async with connect_to(site) as first, connect_to(site, label="second") as second:
            for round in (1, 2):
                waiting = AsyncAttempt(first.barrier("b", 2).wait)
                await _until_there(second, 1)
                assert not waiting.ended.is_set()
                assert await second.barrier("b", 2).wait(timeout=WITHIN) == round
                assert await waiting.outcome() == round

    @needs("cells")
    async def test_whoever_waits_goes_on_when_the_engine_did_not_answer(self, site: Site) -> None:
        session, engine = connect_faulty(site, ttl=STURDY)
        async with session, connect_to(site, label="second") as second:
            engine.refuse("cell_watch", 2)
            waiting = AsyncAttempt(lambda: session.barrier("b", 2).wait(timeout=WITHIN))
            await engine.called("cell_watch", times=2)
            assert await second.barrier("b", 2).wait(timeout=WITHIN) == 1
            assert await waiting.outcome() == 1
            engine.calls.clear()
            engine.refuse("cell_watch", 2)
            opened = AsyncAttempt(lambda: session.latch("l", 1).wait(timeout=WITHIN))
            await engine.called("cell_watch", times=2)
            await second.latch("l", 1).count_down()
            await opened.outcome()

    @needs("cells")
    async def test_one_that_gives_up_at_a_barrier_does_not_count(self, site: Site) -> None:
        async with connect_to(site) as first, connect_to(site, label="second") as second:
            with pytest.raises(AcquireTimeout, match="1 of 2 are there"):
                await first.barrier("b", 2).wait(timeout=0.1)
            with pytest.raises(AcquireTimeout, match="1 of 2 are there"):
                await second.barrier("b", 2).wait(timeout=0.1)
            assert await second.names() == []

    @needs("cells")
    async def test_one_whose_time_is_over_as_the_last_arrives_passes_with_it(self, site: Site) -> None:
        clock = AsyncShiftedClock()
        async with connect_to(site, clock=clock) as first, connect_to(site, label="second") as second:
            barrier = first.barrier("b", 2)
            record = barrier._roster.record
            look = record.next
            passed: list[int] = []

            async def late(version: int, timeout: float) -> Seen:
                """What it looked like just before the other came, told when the time is over."""
                seen = await look(version, 0.0)
                if not passed:
                    passed.append(await second.barrier("b", 2).wait(timeout=WITHIN))
                    clock.ahead = LASTING / 4
                return seen

            record.next = late  # type: ignore[method-assign]
            assert await barrier.wait(timeout=LASTING / 4) == passed[0] == 1

    @needs("cells")
    async def test_one_that_is_cut_off_at_a_barrier_does_not_count(self, site: Site) -> None:
        session, engine = connect_faulty(site)
        async with session, connect_to(site, label="second") as second:
            gone = AsyncAttempt(session.barrier("b", 2).wait)

            seen: tuple[Member, ...] = ()

            async def there() -> bool:
                nonlocal seen
                seen = await _there(second)
                # Or gone too early, since a busy machine lost its short lease.
                return len(seen) == 1 or gone.ended.is_set()

            await until(there)
            engine.cut()
            for member in seen:
                await until_free(second, f"b/{member.id}")
            with pytest.raises(AcquireTimeout, match="1 of 2 are there"):
                await second.barrier("b", 2).wait(timeout=0.1)
            engine.heal()
            with pytest.raises(FencepostError):
                await gone.outcome()

    @needs("cells")
    async def test_a_barrier_for_another_number_is_a_conflict(self, site: Site) -> None:
        async with connect_to(site) as first, connect_to(site, label="second") as second:
            waiting = AsyncAttempt(lambda: first.barrier("b", 2).wait(timeout=WITHIN))
            await _until_there(second, 1)
            with pytest.raises(Conflict, match="waits for 2, not for 3"):
                await second.barrier("b", 3).wait(timeout=WITHIN)
            await second.barrier("b", 2).wait(timeout=WITHIN)
            await waiting.outcome()

    @needs("cells")
    async def test_a_latch_opens_when_it_has_counted_down_and_stays_open(self, site: Site) -> None:
        async with connect_to(site) as first, connect_to(site, label="second") as second:
            latch = first.latch("l", 3)
            waiting = AsyncAttempt(second.latch("l", 3).wait)
            assert await latch.count_down() == 2
            with pytest.raises(AcquireTimeout, match="2 of 3 steps are left"):
                await latch.wait(timeout=0)
            assert not waiting.ended.is_set()
            assert await second.latch("l", 3).count_down(5) == 0
            await waiting.outcome()
            assert await latch.count_down() == 0
            await latch.wait(timeout=0)
            assert await latch.remaining() == 0

    @needs("cells")
    async def test_a_latch_that_counts_from_another_number_is_a_conflict(self, site: Site) -> None:
        async with connect_to(site) as session:
            await session.latch("l", 3).count_down()
            with pytest.raises(Conflict, match="counts from 3, not from 4"):
                await session.latch("l", 4).count_down()


async def _there(session: AsyncSession) -> tuple[Member, ...]:
    """Those who have arrived. Who is about to holds its name already, and counts a little later."""
    return tuple(members((await AsyncRecord(session, "barrier/b").read()).document))


async def _until_there(session: AsyncSession, count: int) -> None:
    async def there() -> bool:
        return len(await _there(session)) == count

    await until(there)
