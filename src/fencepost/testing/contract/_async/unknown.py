# Written by hand; the blocking twin under _sync is generated from it.
"""The law of the unknown: an ask whose outcome is not known is settled, and every way out leaves nothing behind."""

import re

import pytest

from fencepost._runtime import aio as runtime
from fencepost.errors import AcquireTimeout, EngineError, FencepostError, Unavailable, Uncertain
from fencepost.testing._async.fault import AsyncFaultyEngine
from fencepost.testing.contract._async.attempt import AsyncAttempt
from fencepost.testing.contract._async.place import (
    LASTING,
    connect_brisk,
    connect_faulty,
    connect_to,
    holders,
    there,
    until_free,
    until_queued,
    waiters,
)
from fencepost.testing.contract.interruption import aio as interruption
from fencepost.testing.contract.site import Site

PATH = ("lease_open", "claim", "release")


class AsyncUnknownChapter:
    @pytest.mark.parametrize("call", PATH)
    @pytest.mark.parametrize("fault", ["lose_reply", "refuse"])
    async def test_one_lost_message_leaves_nothing_held(self, site: Site, call: str, fault: str) -> None:
        session, engine = connect_brisk(site)
        async with connect_to(site, label="second") as second:
            getattr(engine, fault)(call)
            try:
                async with session.lock("a", timeout=LASTING):
                    pass
            except EngineError:
                # The lease could not be opened: said at once, so that a wrong address is not waited for.
                assert call == "lease_open"
            assert await holders(second, "a") == []
            assert await waiters(second, "a") == []
            async with session.lock("a", timeout=LASTING):
                assert await holders(second, "a") == ["faulty"]
            await session.close()

    async def test_a_try_whose_reply_was_lost_is_no_phantom_holder(self, site: Site) -> None:
        session, engine = connect_brisk(site)
        async with session, connect_to(site, label="second") as second:
            engine.lose_reply("claim")
            with pytest.raises(Unavailable):
                await session.lock("a").try_acquire()
            assert await holders(second, "a") == []

    async def test_what_could_not_be_given_back_is_uncertain_and_settled_later(self, site: Site) -> None:
        session, engine = connect_brisk(site)
        async with session, connect_to(site, label="second") as second:
            grant = await session.lock("a").acquire()
            engine.cut()
            with pytest.raises(Uncertain, match="free within"):
                await grant.release()
            assert not grant.held
            engine.heal()
            # The session keeps its lease, so only the settlement can have freed the lock.
            await until_free(second, "a")
            async with session.lock("b"):
                pass

    async def test_an_ask_that_ends_while_cut_off_is_withdrawn_later(self, site: Site) -> None:
        session, engine = connect_brisk(site)
        async with session, connect_to(site, label="second") as second:
            held = await second.lock("a").acquire()
            attempt = AsyncAttempt(lambda: session.lock("a").acquire(timeout=0.5))
            await until_queued(second, "a", attempt)
            engine.cut()
            with pytest.raises((Uncertain, AcquireTimeout)):
                await attempt.outcome()
            engine.heal()
            await held.release()
            await until_free(second, "a")
            assert await waiters(second, "a") == []

    async def test_a_timed_out_ask_holds_nothing_and_says_who_does(self, site: Site) -> None:
        async with connect_to(site) as first, connect_to(site, label="second") as second:
            grant = await first.lock("a").acquire()
            with pytest.raises(AcquireTimeout) as refused:
                await second.lock("a").acquire(timeout=0.05)
            said = rf"lock 'a' not acquired in \d+\.\d s: held by first \(token {grant.token}\)"
            assert re.fullmatch(said, str(refused.value))
            assert await waiters(first, "a") == []
            assert await holders(first, "a") == ["first"]

    async def test_a_try_that_is_refused_takes_no_place_in_the_queue(self, site: Site) -> None:
        async with connect_to(site) as first, connect_to(site, label="second") as second, first.lock("a"):
            assert await second.lock("a").try_acquire() is None
            assert await waiters(first, "a") == []

    async def test_an_exception_in_the_block_gives_the_lock_back(self, site: Site) -> None:
        async with connect_to(site) as session:
            with pytest.raises(ZeroDivisionError):
                async with session.lock("a"):
                    raise ZeroDivisionError
            assert await holders(session, "a") == []

    async def test_a_grant_that_comes_as_the_time_is_over_is_taken_or_given_back(self, site: Site) -> None:
        async with connect_to(site) as first, connect_to(site, label="second") as second:
            for step in range(40):
                held = await first.lock("a").acquire()
                attempt = AsyncAttempt(lambda: second.lock("a").acquire(timeout=0.01))
                await runtime.sleep(0.0002 * step + 0.005)
                await held.release()
                try:
                    await (await attempt.outcome()).release()
                except AcquireTimeout:
                    pass
                assert await there(first, "a") == ([], [])

    async def test_an_interruption_at_any_step_of_an_uncontended_block_leaves_nothing(self, site: Site) -> None:
        session, engine = connect_faulty(site, ttl=LASTING)
        engine.yielding = True
        async with session, connect_to(site, label="second") as second:

            async def block() -> None:
                async with session.lock("a"):
                    await runtime.sleep(0)

            async def nothing_left(where: str) -> None:
                assert await there(second, "a") == ([], []), f"held, or queued, after {where}"

            assert await interruption.every_step(block, nothing_left) >= 4

    async def test_an_interruption_at_any_step_of_opening_the_lease_leaves_nothing(self, site: Site) -> None:
        async with connect_to(site, label="second") as second:
            opened: list[AsyncFaultyEngine] = []

            async def block() -> None:
                session, engine = connect_faulty(site, ttl=LASTING)
                opened.append(engine)
                engine.yielding = True
                try:
                    async with session.lock("a"):
                        pass
                finally:
                    await session.close()

            async def nothing_left(where: str) -> None:
                assert await holders(second, "a") == [], f"held after {where}"
                # An interrupted close may leave it open.
                for engine in opened:
                    await engine.close()
                opened.clear()

            assert await interruption.every_step(block, nothing_left) >= 6

    async def test_an_interruption_at_any_step_of_waiting_leaves_nothing(self, site: Site) -> None:
        session, engine = connect_faulty(site, ttl=LASTING)
        engine.yielding = True
        async with session, connect_to(site, label="second") as second:
            await second.lock("a").acquire()

            async def wait() -> None:
                try:
                    await session.lock("a").acquire(timeout=0.003)
                except AcquireTimeout:
                    pass

            async def nothing_left(where: str) -> None:
                assert await there(second, "a") == (["second"], []), f"held, or queued, after {where}"

            assert await interruption.every_step(wait, nothing_left) >= 4

    async def test_a_claim_with_a_dead_lease_opens_another(self, site: Site) -> None:
        session, engine = connect_brisk(site)
        async with session:
            keeper = await session.keeper()
            await engine.lease_close(keeper.holder)
            async with session.lock("a") as grant:
                assert grant.holder.id != keeper.holder.id
            assert keeper.lost.is_set()

    async def test_another_lease_is_asked_for_again_while_time_lasts(self, site: Site) -> None:
        session, engine = connect_brisk(site)
        async with session:
            keeper = await session.keeper()
            keeper.lose("told so by the test")
            engine.refuse("lease_open", 3)
            with pytest.raises(Unavailable):
                await session.lock("a").try_acquire()
            async with session.lock("a", timeout=LASTING) as grant:
                assert grant.holder.id != keeper.holder.id

    async def test_an_engine_that_fails_for_good_raises_what_it_raised(self, site: Site) -> None:
        session, engine = connect_brisk(site)
        engine.cut()
        with pytest.raises(FencepostError):
            await session.lock("a").acquire(timeout=0.5)
        engine.heal()
        await session.close()
