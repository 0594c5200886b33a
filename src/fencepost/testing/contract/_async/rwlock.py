# Written by hand; the blocking twin under _sync is generated from it.
"""Readers and writers: readers share, a writer is alone, neither starves."""

import pytest

from fencepost.contract.answer import Granted
from fencepost.core.claim import Ask, Mode, Request
from fencepost.errors import Lost, Uncertain, Unsupported
from fencepost.primitives._async.lock import AsyncLock
from fencepost.testing.contract._async.attempt import WITHIN, AsyncAttempt, until
from fencepost.testing.contract._async.place import (
    LASTING,
    connect_brisk,
    connect_faulty,
    connect_to,
    holders,
    stand_in_line,
    until_queued,
    until_waiting,
)
from fencepost.testing.contract.need import lacks, needs
from fencepost.testing.contract.site import Site


class AsyncRwlockChapter:
    async def test_an_engine_without_read_locks_says_so_when_one_is_made(self, site: Site) -> None:
        async with connect_to(site) as session:
            if site.traits.shared:
                assert session.rwlock("a").read().name == "a"
            else:
                with pytest.raises(Unsupported, match="no shared locks"):
                    session.rwlock("a")

    @needs("shared")
    async def test_readers_hold_together_each_with_a_token_of_its_own(self, site: Site) -> None:
        async with connect_to(site) as first, connect_to(site, label="second") as second:
            one = await first.rwlock("a").read().acquire()
            other = await second.rwlock("a").read().acquire(timeout=0)
            assert other.token > one.token
            assert await holders(first, "a") == ["first", "second"]
            assert await second.rwlock("a").write().try_acquire() is None
            await one.release()
            assert await first.rwlock("a").write().try_acquire() is None
            await other.release()
            written = await first.rwlock("a").write().acquire(timeout=0)
            assert written.token > other.token
            assert await second.rwlock("a").read().try_acquire() is None

    @needs("shared")
    async def test_a_plain_lock_is_a_writer(self, site: Site) -> None:
        async with connect_to(site) as session:
            async with session.lock("a"):
                assert await session.rwlock("a").read().try_acquire() is None
            async with session.rwlock("a").read():
                assert await session.lock("a").try_acquire() is None

    @needs("shared")
    async def test_a_waiting_writer_is_not_overtaken_by_readers(self, site: Site) -> None:
        async with connect_to(site) as first, connect_to(site, label="second") as second:
            reader = await first.rwlock("a").read().acquire()
            writer = AsyncAttempt(second.rwlock("a").write().acquire)
            await until_waiting(first, "a", 1)
            assert await first.rwlock("a").read().try_acquire() is None
            late = AsyncAttempt(first.rwlock("a").read().acquire)
            await until_waiting(first, "a", 2)
            await reader.release()
            written = await writer.outcome()
            assert not late.ended.is_set()
            await written.release()
            await (await late.outcome()).release()

    @needs("shared")
    async def test_readers_and_writers_stand_in_the_order_in_which_they_came(self, site: Site) -> None:
        # Writers after each reader: the next reader must be behind all of them.
        modes = [Mode.SHARED, Mode.EXCLUSIVE, Mode.EXCLUSIVE, Mode.EXCLUSIVE] * 4
        async with connect_to(site) as first, connect_to(site, label="second") as second:
            held = await first.lock("a").acquire()
            attempts = []
            for number, mode in enumerate(modes):
                attempts.append(AsyncAttempt(AsyncLock(second, Ask("a", mode)).acquire))
                await until_waiting(first, "a", number + 1)
            standings = (await first.look("a")).waiters
            assert [standing.claim.ask.mode for standing in standings] == modes
            await held.release()
            for attempt in attempts:
                await (await attempt.outcome()).release()

    @needs("shared")
    async def test_readers_that_wait_are_granted_together(self, site: Site) -> None:
        async with connect_to(site) as first, connect_to(site, label="second") as second:
            writer = await first.rwlock("a").write().acquire()
            readers = [AsyncAttempt(second.rwlock("a").read().acquire) for _ in range(3)]
            await until_waiting(first, "a", 3)
            await writer.release()
            grants = [await reader.outcome() for reader in readers]
            assert all(grant.held for grant in grants)

    @needs("shared")
    async def test_a_reader_that_dies_makes_way_for_the_writer(self, site: Site) -> None:
        session, engine = connect_faulty(site)
        async with session, connect_to(site, label="second") as second:
            reader = await session.rwlock("a").read().acquire()
            writer = AsyncAttempt(second.rwlock("a").write().acquire)
            await until_queued(second, "a", writer)
            engine.cut()
            written = await writer.outcome()
            assert written.token > reader.token
            engine.heal()
            with pytest.raises(Lost):
                reader.check()

    @needs("shared")
    async def test_an_interrupted_reader_leaves_nobody_queued(self, site: Site) -> None:
        async with connect_to(site) as first, connect_to(site, label="second") as second:
            writer = await first.rwlock("a").write().acquire()
            lock = AsyncLock(second, Ask("a", Mode.SHARED), timeout=0.1)
            with pytest.raises(TimeoutError):
                await lock.acquire()
            assert (await first.look("a")).waiters == ()
            await writer.release()

    @needs("shared")
    @lacks("downgrade")
    async def test_an_engine_that_can_not_downgrade_says_so_and_keeps_the_lock(self, site: Site) -> None:
        async with connect_to(site) as session, session.rwlock("a").write() as grant:
            with pytest.raises(Unsupported, match="trait 'downgrade'"):
                await session.rwlock("a").downgrade(grant)
            assert grant.held

    @needs("shared", "downgrade")
    async def test_a_writer_goes_on_as_a_reader_without_a_gap_and_with_its_token(self, site: Site) -> None:
        first, engine = connect_brisk(site, label="first")
        async with first, connect_to(site, label="second") as second:
            rwlock = first.rwlock("a")
            written = await rwlock.write().acquire()
            token = written.token
            reader = AsyncAttempt(second.rwlock("a").read().acquire)
            await until_waiting(first, "a", 1)
            writer = AsyncAttempt(second.rwlock("a").write().acquire)
            await until_waiting(first, "a", 2)
            await rwlock.downgrade(written)
            read = await reader.outcome()
            assert (written.held, written.token) == (True, token)
            assert not writer.ended.is_set()
            assert await holders(first, "a") == ["first", "second"]
            # Renewed as what it is now: the first of these may have been sent before, the second is answered.
            await engine.called("lease_renew", times=engine.calls.count("lease_renew") + 3)
            assert written.held
            await rwlock.downgrade(written)
            await written.release()
            assert not writer.ended.is_set()
            await read.release()
            await (await writer.outcome()).release()

    @needs("shared", "downgrade")
    async def test_a_downgrade_whose_answer_is_lost_can_be_asked_for_again(self, site: Site) -> None:
        session, engine = connect_brisk(site)
        async with session, connect_to(site, label="second") as second:
            rwlock = session.rwlock("a")
            async with rwlock.write() as grant:
                engine.lose_reply("share")
                with pytest.raises(Uncertain, match="ours still"):
                    await rwlock.downgrade(grant)
                assert grant.held
                await rwlock.downgrade(grant)
                async with second.rwlock("a", timeout=WITHIN).read():
                    assert grant.held
            assert await holders(second, "a") == []

    @needs("shared", "downgrade")
    async def test_a_downgrade_whose_answer_is_lost_leaves_what_one_release_gives_back(self, site: Site) -> None:
        session, engine = connect_faulty(site, ttl=LASTING)
        async with session, connect_to(site, label="other") as other:
            grant = await session.rwlock("a").write().acquire()
            engine.lose_reply("share")
            with pytest.raises(Uncertain):
                await session.rwlock("a").downgrade(grant)
            await grant.release()
            assert (await other.look("a")).holders == ()
            async with other.rwlock("a", timeout=LASTING).write():
                pass

    @needs("shared", "downgrade")
    async def test_a_lost_writer_does_not_become_a_reader(self, site: Site) -> None:
        async with connect_to(site) as first, connect_to(site, label="operator") as operator:
            rwlock = first.rwlock("a")
            grant = await rwlock.write().acquire()
            await operator.evict("a")
            with pytest.raises(Lost):
                await rwlock.downgrade(grant)
            assert await holders(operator, "a") == []
            with pytest.raises(ValueError, match="this grant is of 'a'"):
                await first.rwlock("b").downgrade(grant)

    @needs("shared", "downgrade")
    async def test_whoever_reads_beside_a_writer_that_went_on_as_a_reader_outlives_it(self, site: Site) -> None:
        session, engine = connect_faulty(site)
        async with session, connect_to(site, label="second") as second, connect_to(site, label="third") as third:
            grant = await session.rwlock("a").write().acquire()
            while True:
                try:
                    await session.rwlock("a").downgrade(grant)
                    break
                except Lost:
                    # Too late on a busy machine, as its lease is short.
                    grant = await session.rwlock("a").write().acquire()
            read = await second.rwlock("a").read().acquire(timeout=WITHIN)
            writer = AsyncAttempt(third.rwlock("a").write().acquire)
            await until_waiting(second, "a", 1)
            engine.cut()
            assert await grant.lost.wait(WITHIN)

            async def gone() -> bool:
                return await holders(second, "a") == ["second"]

            await until(gone)
            assert read.held
            assert not writer.ended.is_set()
            engine.heal()
            await read.release()
            assert (await writer.outcome()).token > read.token

    @needs("shared", "downgrade")
    async def test_a_reader_joins_a_writer_that_went_on_as_a_reader_when_nobody_is_left_between(
        self, site: Site
    ) -> None:
        async with connect_to(site) as first, connect_to(site, label="second") as second:
            rwlock = first.rwlock("a")
            grant = await rwlock.write().acquire()
            writer = await stand_in_line(second, Ask("a"))
            reader = AsyncAttempt(second.rwlock("a").read().acquire)
            await until_waiting(first, "a", 2)
            await rwlock.downgrade(grant)
            assert not reader.ended.is_set()
            await second.engine.withdraw(writer)
            assert (await reader.outcome()).held
            assert grant.held

    @needs("shared", "downgrade")
    async def test_a_reader_joins_a_writer_that_waited_before_it_and_went_on_as_a_reader(self, site: Site) -> None:
        async with connect_to(site) as first, connect_to(site, label="second") as second:
            held = await first.rwlock("a").write().acquire()
            writer = AsyncAttempt(first.rwlock("a").write().acquire)
            await until_waiting(first, "a", 1)
            reader = AsyncAttempt(second.rwlock("a").read().acquire)
            await until_waiting(first, "a", 2)
            await held.release()
            written = await writer.outcome()
            assert not reader.ended.is_set()
            await first.rwlock("a").downgrade(written)
            assert (await reader.outcome()).token > written.token

    @needs("shared", "downgrade")
    async def test_all_who_read_are_evicted_beside_a_writer_that_went_on_as_a_reader(self, site: Site) -> None:
        (first, _), (second, _) = connect_brisk(site, label="first"), connect_brisk(site, label="second")
        async with first, second:
            grant = await first.rwlock("a").write().acquire()
            await first.rwlock("a").downgrade(grant)
            read = await second.rwlock("a").read().acquire(timeout=0)
            taken = await second.evict("a")
            assert sorted(claim.holder.label for claim in taken) == ["first", "second"]
            assert {claim.ask.mode for claim in taken} == {Mode.SHARED}
            assert await grant.lost.wait(WITHIN)
            assert await read.lost.wait(WITHIN)
            assert await second.rwlock("a").write().try_acquire() is not None

    @needs("shared", "downgrade")
    async def test_a_writer_that_went_on_as_a_reader_is_the_same_request_and_is_withdrawn_as_one(
        self, site: Site
    ) -> None:
        session, engine = connect_brisk(site)
        async with session, connect_to(site, label="second") as second:
            grant = await session.rwlock("a").write().acquire()
            request = Request(grant.holder, grant.claim.serial, (grant.claim.ask,))
            await session.rwlock("a").downgrade(grant)
            again = await engine.claim(request, wait=True)
            assert isinstance(again, Granted)
            assert again.tokens == (grant.token,)
            async with second.rwlock("a", timeout=WITHIN).read():
                await engine.withdraw(request)
                assert await holders(second, "a") == ["second"]
            assert await second.rwlock("a").write().try_acquire() is not None
