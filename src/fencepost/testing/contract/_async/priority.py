# Written by hand; the blocking twin under _sync is generated from it.
"""Priority: the highest of those who wait goes first, equals in order of arrival, and no holder is pushed out."""

import pytest

from fencepost._runtime import aio as runtime
from fencepost.errors import AcquireTimeout, Unsupported
from fencepost.primitives._async.session import AsyncSession
from fencepost.session._async.grant import AsyncGrant
from fencepost.testing.contract._async.attempt import WITHIN, AsyncAttempt, until
from fencepost.testing.contract._async.place import (
    LASTING,
    STURDY,
    connect_brisk,
    connect_faulty,
    connect_to,
    holders,
    until_waiting,
    waiters,
)
from fencepost.testing.contract._async.puppet import AsyncPuppet
from fencepost.testing.contract.need import needs
from fencepost.testing.contract.site import Site

ROUNDS = 8


class AsyncPriorityChapter:
    async def test_an_engine_without_priorities_says_so_when_an_object_is_made(self, site: Site) -> None:
        async with connect_to(site) as session:
            for priority in (0, 100, -100):
                if priority == 0 or site.traits.priority:
                    _make_all(session, priority)
                    continue
                with pytest.raises(Unsupported, match="trait 'priority'"):
                    session.lock("a", priority=priority)
                with pytest.raises(Unsupported, match="trait 'priority'"):
                    session.lock_all(["a", "b"], priority=priority)
                if site.traits.shared:
                    with pytest.raises(Unsupported, match="trait 'priority'"):
                        session.rwlock("a", priority=priority)
                if site.traits.counted:
                    with pytest.raises(Unsupported, match="trait 'priority'"):
                        session.semaphore("a", limit=2, priority=priority)

    async def test_a_priority_that_is_none_is_refused_when_an_object_is_made(self, site: Site) -> None:
        async with connect_to(site) as session:
            for wrong in (101, -101):
                with pytest.raises(ValueError, match="from -100 to 100"):
                    session.lock("a", priority=wrong)
            with pytest.raises(TypeError, match="a whole number"):
                session.lock_all(["a"], priority=True)

    @needs("priority")
    async def test_a_higher_one_overtakes_those_who_wait_but_not_the_holder(self, site: Site) -> None:
        async with (
            connect_to(site) as first,
            connect_to(site, label="low") as low,
            connect_to(site, label="plain") as plain,
            connect_to(site, label="high") as high,
        ):
            held = await first.lock("a").acquire()
            attempts = [
                await _queued(session, number, priority)
                for number, (session, priority) in enumerate([(low, -100), (plain, 0), (high, 100)], 1)
            ]
            standings = (await first.look("a")).waiters
            assert [(each.claim.holder.label, each.priority) for each in standings] == [
                ("high", 100),
                ("plain", 0),
                ("low", -100),
            ]
            assert held.held
            assert await holders(first, "a") == ["first"]
            token = held.token
            await held.release()
            for attempt in reversed(attempts):
                grant = await attempt.outcome()
                assert grant.token > token
                assert await holders(first, "a") == [grant.holder.label]
                token = grant.token
                await grant.release()

    @needs("priority")
    async def test_equal_ones_are_served_in_order_of_arrival(self, site: Site) -> None:
        async with connect_to(site) as session:
            held = await session.lock("a").acquire()
            priorities = [0, 3, -3, 0, 3, -3, 3, 0]
            attempts = [
                (await _queued(session, number, priority), priority) for number, priority in enumerate(priorities, 1)
            ]
            await held.release()
            line = sorted(attempts, key=lambda each: -each[1])
            for number, (attempt, _) in enumerate(line):
                grant = await attempt.outcome()
                assert not any(other.ended.is_set() for other, _ in line[number + 1 :])
                await grant.release()

    @needs("priority")
    async def test_whoever_comes_later_goes_before_a_lower_one(self, site: Site) -> None:
        async with connect_to(site) as first, connect_to(site, label="second") as second:
            held = await first.lock("a").acquire()
            low = await _queued(second, 1, -1)
            plain = await _queued(first, 2, 0)
            await held.release()
            grant = await plain.outcome()
            assert not low.ended.is_set()
            await grant.release()
            await (await low.outcome()).release()

    @needs("priority")
    async def test_a_higher_one_is_told_also_where_another_of_its_session_waits_behind_somebody_else(
        self, site: Site
    ) -> None:
        pairs = [connect_faulty(site, label=label, ttl=LASTING) for label in ("second", "third")]
        (second, _), (third, engine) = pairs
        async with connect_to(site) as first, second, third:
            held = await first.lock("a").acquire()
            attempts = [
                await _queued(session, number, priority)
                for number, (session, priority) in enumerate([(second, 0), (third, 0), (third, 1)], 1)
            ]
            await engine.called("wait", times=2)
            # Those who wait look whom to watch.
            await runtime.sleep(0.1)
            await held.release()
            for attempt in (attempts[2], attempts[0], attempts[1]):
                await (await attempt.outcome()).release()

    @needs("priority")
    async def test_a_higher_one_that_gives_up_leaves_nobody_queued(self, site: Site) -> None:
        async with connect_to(site) as first, connect_to(site, label="second") as second:
            held = await first.lock("a").acquire()
            plain = await _queued(first, 1, 0)
            with pytest.raises(AcquireTimeout, match="held by first"):
                await second.lock("a", priority=5).acquire(timeout=0.1)
            assert await second.lock("a", priority=5).try_acquire() is None
            assert await waiters(first, "a") == ["first"]
            await held.release()
            await (await plain.outcome()).release()
            assert await holders(first, "a") == await waiters(first, "a") == []

    @needs("priority")
    async def test_a_place_whose_answer_is_lost_is_asked_for_again_and_is_the_same(self, site: Site) -> None:
        session, engine = connect_brisk(site)
        async with session, connect_to(site) as first:
            held = await first.lock("a").acquire()
            plain = await _queued(first, 1, 0)
            engine.lose_reply("claim")
            high = await _queued(session, 2, 5)
            await engine.called("wait")
            assert await waiters(first, "a") == ["faulty", "first"]
            await held.release()
            await (await high.outcome()).release()
            await (await plain.outcome()).release()

    @needs("priority")
    async def test_a_higher_one_that_is_cut_off_is_skipped_within_its_own_lease(self, site: Site) -> None:
        session, engine = connect_faulty(site)
        async with session, connect_to(site) as first:
            held = await first.lock("a").acquire()
            behind = await _queued(first, 1, 0)
            higher = AsyncAttempt(session.lock("a", timeout=60, priority=5).acquire)
            await until_waiting(first, "a", 2)
            engine.cut()
            await held.release()
            await (await behind.outcome()).release()
            engine.heal()
            # It was told that nobody answers, or asked again later.
            assert await higher.ended.wait(WITHIN)

    @needs("priority", scope="host")
    async def test_whoever_goes_before_a_lower_one_watches_the_holder_and_not_the_lower_one(self, site: Site) -> None:
        # Lost too early, the lower one would have it.
        dying, engine = connect_faulty(site, label="dying", ttl=STURDY)
        async with dying, connect_to(site) as first, AsyncPuppet(site, "lower", ttl=LASTING) as lower:
            await dying.lock("a").acquire()
            lower.tell("acquire", name="a", timeout=None, priority=-1)
            await until_waiting(first, "a", 1)
            plain = await _queued(first, 2, 0)
            # The lower one, whose lease is long, does nothing for anybody any more.
            await lower.kill()
            engine.cut()
            await (await plain.outcome()).release()
            engine.heal()

    @needs("priority", scope="host")
    async def test_a_killed_higher_one_is_skipped_within_its_own_lease(self, site: Site) -> None:
        async with connect_to(site) as session, AsyncPuppet(site, "victim") as victim:
            held = await session.lock("a").acquire()
            behind = await _queued(session, 1, 0)
            victim.tell("acquire", name="a", timeout=None, priority=5)

            async def overtook() -> bool:
                return await waiters(session, "a") == ["victim", "first"]

            await until(overtook)
            await victim.kill()
            await held.release()
            await (await behind.outcome()).release()

    @needs("priority", scope="host")
    async def test_a_higher_one_that_overtook_and_is_killed_as_a_holder_makes_way(self, site: Site) -> None:
        ttl = LASTING if site.traits.death == "at once" else site.ttl
        async with connect_to(site) as session, AsyncPuppet(site, "victim", ttl=ttl) as victim:
            held = await session.lock("a").acquire()
            behind = await _queued(session, 1, 0)
            victim.tell("acquire", name="a", timeout=None, priority=5)
            await until_waiting(session, "a", 2)
            overtaking = AsyncAttempt(victim.answer)
            await held.release()

            async def has_it() -> bool:
                # The one behind, if a busy machine lost the short lease just then.
                return overtaking.ended.is_set() or behind.ended.is_set()

            await until(has_it)
            await victim.kill()
            await (await behind.outcome()).release()

    @needs("shared", "priority")
    async def test_a_writer_goes_before_readers_that_wait(self, site: Site) -> None:
        async with connect_to(site) as first, connect_to(site, label="second") as second:
            held = await first.rwlock("a").write().acquire()
            readers = []
            for number in range(2):
                readers.append(AsyncAttempt(second.rwlock("a").read().acquire))
                await until_waiting(first, "a", number + 1)
            writer = AsyncAttempt(second.rwlock("a", priority=1).write().acquire)
            await until_waiting(first, "a", 3)
            await held.release()
            written = await writer.outcome()
            assert not any(reader.ended.is_set() for reader in readers)
            await written.release()
            for reader in readers:
                await (await reader.outcome()).release()

    @needs("shared", "priority")
    async def test_a_higher_reader_joins_readers_before_a_writer_that_waits(self, site: Site) -> None:
        async with connect_to(site) as first, connect_to(site, label="second") as second:
            reader = await first.rwlock("a").read().acquire()
            writer = AsyncAttempt(second.rwlock("a").write().acquire)
            await until_waiting(first, "a", 1)
            assert await first.rwlock("a").read().try_acquire() is None
            higher = await first.rwlock("a", priority=1).read().acquire(timeout=0)
            await reader.release()
            assert not writer.ended.is_set()
            await higher.release()
            await (await writer.outcome()).release()

    @needs("shared", "priority", scope="host")
    async def test_a_higher_reader_that_joined_and_is_killed_does_not_keep_the_writer_for_longer_than_its_own_lease(
        self, site: Site
    ) -> None:
        async with connect_to(site) as session, AsyncPuppet(site, "victim") as victim:
            reader = await session.rwlock("a").read().acquire()
            writer = AsyncAttempt(session.rwlock("a").write().acquire)
            await until_waiting(session, "a", 1)
            await victim.ask("acquire", name="a", timeout=0, shared=True, priority=1)
            await victim.kill()
            await reader.release()
            await (await writer.outcome()).release()

    @needs("counted", "priority")
    async def test_permits_of_a_semaphore_go_to_the_higher_first(self, site: Site) -> None:
        async with connect_to(site) as first, connect_to(site, label="second") as second:
            held = await first.semaphore("a", limit=3, weight=3).acquire()
            heavy = AsyncAttempt(second.semaphore("a", limit=3, weight=2).acquire)
            await until_waiting(first, "a", 1)
            higher = AsyncAttempt(first.semaphore("a", limit=3, weight=2, priority=1).acquire)
            await until_waiting(first, "a", 2)
            await held.release()
            grant = await higher.outcome()
            assert not heavy.ended.is_set()
            await grant.release()
            await (await heavy.outcome()).release()

    @needs("priority")
    async def test_several_names_for_a_higher_one_go_before_one_of_them_for_a_lower(self, site: Site) -> None:
        async with connect_to(site) as first, connect_to(site, label="second") as second:
            held = await first.lock_all(["a", "b"]).acquire()
            plain = await _queued(first, 1, 0)
            both = AsyncAttempt(second.lock_all(["b", "a"], priority=1).acquire)
            await until_waiting(first, "a", 2)
            await held.release()
            grants = await both.outcome()
            assert not plain.ended.is_set()
            await grants.release()
            await (await plain.outcome()).release()

    @needs("priority")
    async def test_many_who_want_several_names_at_any_priority_all_get_on(self, site: Site) -> None:
        def takes(session: AsyncSession, names: str, priority: int) -> runtime.Work[None]:
            async def take() -> None:
                for number in range(ROUNDS):
                    async with session.lock_all(list(names), timeout=60, priority=priority * (number % 2)) as grants:
                        assert grants.held

            return take

        async with connect_to(site) as first, connect_to(site, label="second") as second:
            wanted = [(first, "abc", 1), (second, "cb", 2), (first, "ca", -1), (second, "ab", 100)]
            attempts = [AsyncAttempt(takes(*each)) for each in wanted]
            for attempt in attempts:
                await attempt.outcome(60)
            assert [await holders(first, name) for name in "abc"] == [[], [], []]


def _make_all(session: AsyncSession, priority: int) -> None:
    session.lock("a", priority=priority)
    session.lock_all(["a", "b"], priority=priority)
    if session.traits.shared:
        session.rwlock("a", priority=priority)
    if session.traits.counted:
        session.semaphore("a", limit=2, priority=priority)


async def _queued(session: AsyncSession, place: int, priority: int) -> AsyncAttempt[AsyncGrant]:
    """An attempt at 'a' that has come to wait there, with so many in all."""
    attempt = AsyncAttempt(session.lock("a", priority=priority).acquire)
    await until_waiting(session, "a", place)
    return attempt
