# Written by hand; the blocking twin under _sync is generated from it.
"""Semaphores: so many at once and no more, in order of arrival, and everybody agrees how many."""

import pytest

from fencepost.errors import Conflict, Unsupported
from fencepost.testing.contract._async.attempt import WITHIN, AsyncAttempt
from fencepost.testing.contract._async.place import (
    LASTING,
    connect_faulty,
    connect_to,
    holders,
    until_queued,
    until_waiting,
)
from fencepost.testing.contract.need import needs
from fencepost.testing.contract.site import Site


class AsyncSemaphoreChapter:
    async def test_an_engine_without_semaphores_says_so_when_one_is_made(self, site: Site) -> None:
        async with connect_to(site) as session:
            if site.traits.counted:
                assert session.semaphore("a", limit=2).name == "a"
            else:
                with pytest.raises(Unsupported, match="no semaphores"):
                    session.semaphore("a", limit=2)

    @needs("counted")
    async def test_as_many_hold_as_the_limit_says_each_with_a_token_of_its_own(self, site: Site) -> None:
        async with connect_to(site) as first, connect_to(site, label="second") as second:
            permits = [await first.semaphore("a", limit=3).acquire(timeout=0) for _ in range(2)]
            permits.append(await second.semaphore("a", limit=3).acquire(timeout=0))
            assert await second.semaphore("a", limit=3).try_acquire() is None
            tokens = [permit.token for permit in permits]
            assert tokens == sorted(set(tokens))
            assert await holders(first, "a") == ["first", "first", "second"]
            await permits[0].release()
            late = await second.semaphore("a", limit=3).acquire(timeout=0)
            assert late.token > max(tokens)

    @needs("counted")
    async def test_weights_add_up_to_the_limit(self, site: Site) -> None:
        async with connect_to(site) as session:
            heavy = await session.semaphore("a", limit=5, weight=4).acquire(timeout=0)
            assert await session.semaphore("a", limit=5, weight=2).try_acquire() is None
            async with session.semaphore("a", limit=5):
                assert await session.semaphore("a", limit=5).try_acquire() is None
            await heavy.release()
            async with session.semaphore("a", limit=5, weight=5, timeout=0):
                assert await session.semaphore("a", limit=5).try_acquire() is None

    @needs("counted", order="arrival")
    async def test_a_heavy_waiter_is_not_overtaken_by_light_ones(self, site: Site) -> None:
        async with connect_to(site) as first, connect_to(site, label="second") as second:
            held = await first.semaphore("a", limit=3, weight=2).acquire()
            heavy = AsyncAttempt(second.semaphore("a", limit=3, weight=3).acquire)
            await until_waiting(first, "a", 1)
            # One permit is free, but its turn has not come.
            assert await first.semaphore("a", limit=3).try_acquire() is None
            light = AsyncAttempt(first.semaphore("a", limit=3).acquire)
            await until_waiting(first, "a", 2)
            await held.release()
            granted = await heavy.outcome()
            assert not light.ended.is_set()
            await granted.release()
            await (await light.outcome()).release()

    @needs("counted")
    async def test_a_release_wakes_exactly_those_that_can_run_now(self, site: Site) -> None:
        pairs = [connect_faulty(site, label=f"waiter {number}", ttl=LASTING) for number in range(4)]
        async with connect_to(site) as first:
            held = await first.semaphore("a", limit=2, weight=2).acquire()
            attempts = []
            for number, (session, engine) in enumerate(pairs):
                attempts.append(AsyncAttempt(session.semaphore("a", limit=2).acquire))
                await until_waiting(first, "a", number + 1)
                await engine.called("wait")
            await held.release()
            woken = [await attempt.outcome() for attempt in attempts[:2]]
            assert not any(attempt.ended.is_set() for attempt in attempts[2:])
            for permit in woken:
                await permit.release()
            for attempt in attempts[2:]:
                await (await attempt.outcome()).release()
        for session, _ in pairs:
            await session.close()

    @needs("counted")
    async def test_another_limit_is_a_conflict_while_anybody_holds_or_waits(self, site: Site) -> None:
        async with connect_to(site) as first, connect_to(site, label="second") as second:
            held = await first.semaphore("a", limit=3).acquire()
            with pytest.raises(Conflict, match="counted up to 3 by first"):
                await second.semaphore("a", limit=4).acquire(timeout=WITHIN)
            with pytest.raises(Conflict):
                await second.semaphore("a", limit=4).try_acquire()
            snapshot = await first.look("a")
            assert (len(snapshot.holders), snapshot.waiters) == (1, ())
            await held.release()
            async with second.semaphore("a", limit=4, timeout=0):
                assert await holders(first, "a") == ["second"]

    @needs("counted")
    async def test_the_permit_of_a_lost_holder_is_free_again(self, site: Site) -> None:
        session, engine = connect_faulty(site)
        async with session, connect_to(site, label="second") as second:
            permit = await session.semaphore("a", limit=1).acquire()
            attempt = AsyncAttempt(second.semaphore("a", limit=1).acquire)
            await until_queued(second, "a", attempt)
            engine.cut()
            assert (await attempt.outcome()).token > permit.token
            assert not permit.held
            engine.heal()

    @needs("counted")
    async def test_what_can_never_be_granted_is_refused_at_once(self, site: Site) -> None:
        async with connect_to(site) as session:
            with pytest.raises(ValueError, match="can never be granted within a limit of 2"):
                session.semaphore("a", limit=2, weight=3)
            with pytest.raises(ValueError, match="at least 1"):
                session.semaphore("a", limit=0)
            with pytest.raises(TypeError, match="whole number"):
                session.semaphore("a", limit=2.5)  # type: ignore[arg-type]
