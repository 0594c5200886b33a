# Written by hand; the blocking twin under _sync is generated from it.
"""What a block of code under a lock can rely on: losing the lock ends it, and one flow may enter again."""

import pytest

from fencepost._runtime import aio as runtime
from fencepost.errors import Conflict, Lost, NotHeld, SessionClosed
from fencepost.testing.contract._async.attempt import WITHIN, AsyncAttempt, until
from fencepost.testing.contract._async.place import connect_brisk, connect_faulty, connect_to, holders, until_waiting
from fencepost.testing.contract.need import needs
from fencepost.testing.contract.site import Site

FLAVOUR = "async"


class AsyncBlockChapter:
    async def test_losing_the_lock_ends_the_block_with_lost(self, site: Site) -> None:
        session, engine = connect_faulty(site)
        went_on = False
        async with session:
            with pytest.raises(Lost, match="was not renewed in time"):
                async with session.lock("a") as grant:
                    engine.cut()
                    await grant.lost.wait(WITHIN)
                    # A thread has to look; a task was cancelled in the line above.
                    with pytest.raises(Lost):
                        grant.check()
                    await runtime.sleep(0)
                    went_on = True
            assert went_on is (FLAVOUR == "sync")
            engine.heal()
            async with session.lock("b"):
                pass

    async def test_what_the_body_raised_is_not_hidden_by_the_loss(self, site: Site) -> None:
        session, engine = connect_brisk(site)
        async with session:
            with pytest.raises(ZeroDivisionError):
                async with session.lock("a"):
                    engine.cut()
                    raise ZeroDivisionError
            engine.heal()

    async def test_a_block_that_ends_after_the_loss_raises_lost(self, site: Site) -> None:
        async with connect_to(site) as session:
            keeper = await session.keeper()
            with pytest.raises(Lost):
                async with session.lock("a"):
                    keeper.lose("told so by the test")

    async def test_a_block_whose_lock_was_evicted_unnoticed_raises_lost_at_its_end(self, site: Site) -> None:
        async with connect_to(site) as first, connect_to(site, label="second") as second:
            with pytest.raises(Lost, match="no longer had it"):
                async with first.lock("a"):
                    await second.evict("a")

    async def test_a_grant_released_inside_its_block_is_not_released_twice(self, site: Site) -> None:
        async with connect_to(site) as session:
            async with session.lock("a") as grant:
                await grant.release()
                assert await holders(session, "a") == []
            with pytest.raises(NotHeld, match="released before"):
                await grant.release()
            with pytest.raises(NotHeld, match="released before"):
                grant.check()
            assert not grant.lost.is_set()

    async def test_a_grant_may_be_released_by_another_flow(self, site: Site) -> None:
        async with connect_to(site) as session:
            grant = await session.lock("a").acquire()
            await AsyncAttempt(grant.release).outcome()
            assert await holders(session, "a") == []

    async def test_flows_that_share_a_lock_object_exclude_each_other(self, site: Site) -> None:
        async with connect_to(site) as session:
            lock = session.lock("a")
            inside = 0
            most = 0

            async def enter() -> None:
                nonlocal inside, most
                async with lock:
                    inside += 1
                    most = max(most, inside)
                    await runtime.sleep(0.001)
                    inside -= 1

            attempts = [AsyncAttempt(enter) for _ in range(10)]
            for attempt in attempts:
                await attempt.outcome()
            assert most == 1

    async def test_another_flow_does_not_re_enter(self, site: Site) -> None:
        async with connect_to(site) as session:
            async with session.lock("a", reentrant=True) as grant:
                other = AsyncAttempt(session.lock("a", reentrant=True).acquire)
                await until_waiting(session, "a", 1)
            taken = await other.outcome()
            assert taken.token > grant.token
            await taken.release()

    async def test_a_lock_is_not_reentrant_unless_asked(self, site: Site) -> None:
        async with connect_to(site) as session, session.lock("a"):
            assert await session.lock("a").try_acquire() is None

    async def test_a_re_entry_after_the_loss_raises_lost(self, site: Site) -> None:
        async with connect_to(site) as session:
            keeper = await session.keeper()
            grant = await session.lock("a", reentrant=True).acquire()
            keeper.lose("told so by the test")
            with pytest.raises(Lost):
                await session.lock("a", reentrant=True).acquire()
            assert not grant.held

    async def test_a_closed_session_says_so(self, site: Site) -> None:
        session = connect_to(site)
        lock = session.lock("a")
        await session.close()
        await session.close()
        with pytest.raises(SessionClosed, match="connect again"):
            await lock.acquire()
        with pytest.raises(SessionClosed):
            await session.look("a")

    async def test_a_block_that_would_wait_for_itself_is_a_conflict_and_leaves_nobody_queued(self, site: Site) -> None:
        async with connect_to(site) as session:
            async with session.lock("a") as grant:
                with pytest.raises(Conflict, match="would wait for itself"):
                    await session.lock("a").acquire()
                assert (await session.look("a")).waiters == ()
                assert await session.lock("a").try_acquire() is None
                assert grant.held
            # Not in a block, somebody else may let go of it.
            held = await session.lock("a").acquire()
            attempt = AsyncAttempt(session.lock("a").acquire)
            await until_waiting(session, "a", 1)
            await held.release()
            await (await attempt.outcome()).release()

    @needs("counted")
    async def test_a_semaphore_whose_block_wants_more_than_there_is_would_wait_for_itself(self, site: Site) -> None:
        async with (
            connect_to(site) as session,
            connect_to(site, label="second") as second,
            session.semaphore("s", limit=3, weight=2) as grant,
        ):
            with pytest.raises(Conflict, match="would wait for itself"):
                await session.semaphore("s", limit=3, weight=2).acquire()
            assert (await session.look("s")).waiters == ()
            assert await session.semaphore("s", limit=3, weight=2).try_acquire() is None
            # With what others hold it is too much; but they may let go of it.
            held = await second.semaphore("s", limit=3).acquire()
            attempt = AsyncAttempt(session.semaphore("s", limit=3).acquire)
            await until_waiting(session, "s", 1)
            await held.release()
            await (await attempt.outcome()).release()
            async with session.semaphore("s", limit=3):
                with pytest.raises(Conflict, match="would wait for itself"):
                    await session.semaphore("s", limit=3).acquire()
            assert grant.held

    async def test_closing_the_session_ends_the_waits_of_others_in_it(self, site: Site) -> None:
        async with connect_to(site) as first:
            await first.lock("a").acquire()
            second = connect_to(site, label="second")
            attempt = AsyncAttempt(second.lock("a").acquire)
            await until_waiting(first, "a", 1)
            await second.close()
            with pytest.raises(SessionClosed):
                await attempt.outcome()

    async def test_statistics_count_what_happened(self, site: Site) -> None:
        async with connect_to(site) as first, connect_to(site, label="second") as second:
            held = await first.lock("a").acquire()
            attempt = AsyncAttempt(second.lock("a").acquire)

            async def counted() -> bool:
                return second.statistics().waiting == 1

            await until(counted)
            assert first.statistics().held == 1
            await held.release()
            grant = await attempt.outcome()
            numbers = second.statistics()
            assert (numbers.held, numbers.waiting, numbers.granted, numbers.contended) == (1, 0, 1, 1)
            assert numbers.waited > 0
            assert numbers.contention == 1.0
            await grant.release()
            assert second.statistics().held == 0
