# Written by hand; the blocking twin under _sync is generated from it.
"""The law of waiting: first come, first served, woken by push, one waiter per release."""

import pytest

from fencepost._runtime import aio as runtime
from fencepost.core.event import Event, Unsettled
from fencepost.errors import AcquireTimeout, FencepostError
from fencepost.testing.contract._async.attempt import AsyncAttempt
from fencepost.testing.contract._async.place import (
    LASTING,
    connect_faulty,
    connect_to,
    holders,
    until_waiting,
    waiters,
)
from fencepost.testing.contract._async.puppet import AsyncPuppet
from fencepost.testing.contract.need import needs
from fencepost.testing.contract.site import Site

now = runtime.BootClock.now


class AsyncWaitingChapter:
    async def test_waiters_of_one_session_are_served_in_order_of_arrival(self, site: Site) -> None:
        async with connect_to(site) as session:
            held = await session.lock("a").acquire()
            attempts = []
            for number in range(6):
                attempts.append(AsyncAttempt(session.lock("a").acquire))
                await until_waiting(session, "a", number + 1)
            for attempt in attempts:
                await held.release()
                held = await attempt.outcome()
            await held.release()

    async def test_waiters_of_many_sessions_are_served_in_order_of_arrival(self, site: Site) -> None:
        sessions = [connect_to(site, label=f"waiter {number}") for number in range(5)]
        async with connect_to(site) as first:
            held = await first.lock("a").acquire()
            attempts = []
            for number, session in enumerate(sessions):
                attempts.append(AsyncAttempt(session.lock("a").acquire))
                await until_waiting(first, "a", number + 1)
            assert await waiters(first, "a") == [f"waiter {number}" for number in range(5)]
            for number, attempt in enumerate(attempts):
                await held.release()
                held = await attempt.outcome()
                assert await holders(first, "a") == [f"waiter {number}"]
        for session in sessions:
            await session.close()

    async def test_waiters_of_a_session_that_closes_leave_without_a_word_of_doubt(self, site: Site) -> None:
        happened: list[Event] = []
        async with connect_to(site) as other:
            await other.lock("a").acquire()
            session = connect_to(site, label="second")
            session.subscribe(happened.append, Unsettled)
            attempts = [AsyncAttempt(session.lock("a").acquire) for _ in range(3)]
            await until_waiting(other, "a", 3)
            await session.close()
            for attempt in attempts:
                with pytest.raises(FencepostError):
                    await attempt.outcome()
            await until_waiting(other, "a", 0)
        assert happened == []

    @needs(scope="host")
    async def test_processes_are_served_in_order_of_arrival(self, site: Site) -> None:
        async with (
            connect_to(site) as session,
            AsyncPuppet(site, "one", ttl=10) as one,
            AsyncPuppet(site, "two", ttl=10) as two,
            AsyncPuppet(site, "three", ttl=10) as three,
        ):
            held = await session.lock("a").acquire()
            line = [three, one, two]
            for number, puppet in enumerate(line):
                puppet.tell("acquire", name="a", timeout=20)
                await until_waiting(session, "a", number + 1)
            await held.release()
            tokens = []
            for puppet in line:
                tokens.append((await puppet.answer())["token"])
                assert await holders(session, "a") == [puppet.label]
                await puppet.ask("release", name="a")
            assert tokens == sorted(set(tokens))

    async def test_a_sleeping_waiter_is_woken_by_push(self, site: Site) -> None:
        async with connect_to(site) as first, connect_to(site, label="second") as second:
            delays = []
            for _ in range(9):
                held = await first.lock("a").acquire()
                attempt = AsyncAttempt(second.lock("a").acquire)
                await until_waiting(first, "a", 1)
                # Long enough that a poll with back-off would have slowed down.
                await runtime.sleep(0.03)
                released_at = now()
                await held.release()
                grant = await attempt.outcome()
                delays.append(grant.granted_at - released_at)
                await grant.release()
            assert sorted(delays)[4] < 0.02

    async def test_a_release_wakes_one_waiter_and_no_other(self, site: Site) -> None:
        pairs = [connect_faulty(site, label=f"waiter {number}", ttl=LASTING) for number in range(6)]
        async with connect_to(site) as first:
            held = await first.lock("a").acquire()
            attempts = []
            for number, (session, engine) in enumerate(pairs):
                attempts.append(AsyncAttempt(session.lock("a").acquire))
                await until_waiting(first, "a", number + 1)
                await engine.called("wait")
            asked = [len(engine.calls) for _, engine in pairs]
            await held.release()
            woken = await attempts[0].outcome()
            # A herd would show as further calls of those whose turn it is not.
            assert [len(engine.calls) for _, engine in pairs[1:]] == asked[1:]
            assert not any(attempt.ended.is_set() for attempt in attempts[1:])
            await woken.release()
            for attempt in attempts[1:]:
                await (await attempt.outcome()).release()
        for session, _ in pairs:
            await session.close()

    async def test_a_waiter_that_gives_up_is_skipped_at_once(self, site: Site) -> None:
        async with (
            connect_to(site) as first,
            connect_to(site, label="second") as second,
            connect_to(site, label="third") as third,
        ):
            held = await first.lock("a").acquire()
            impatient = AsyncAttempt(lambda: second.lock("a").acquire(timeout=1))
            await until_waiting(first, "a", 1)
            patient = AsyncAttempt(third.lock("a").acquire)
            await until_waiting(first, "a", 2)
            with pytest.raises(AcquireTimeout):
                await impatient.outcome()
            await held.release()
            # Well before the lease of the one that gave up would have ended.
            await (await patient.outcome(5)).release()

    async def test_a_waiter_behind_one_that_gave_up_still_notices_the_end_of_the_holder(self, site: Site) -> None:
        session, engine = connect_faulty(site)
        async with (
            session,
            connect_to(site, label="second", ttl=site.ttl * 4) as second,
            connect_to(site, label="third", ttl=site.ttl * 4) as third,
        ):
            await session.lock("a").acquire()
            impatient = AsyncAttempt(lambda: second.lock("a").acquire(timeout=1))
            await until_waiting(second, "a", 1)
            patient = AsyncAttempt(third.lock("a").acquire)
            await until_waiting(second, "a", 2)
            with pytest.raises(AcquireTimeout):
                await impatient.outcome()
            engine.cut()
            # The lease of the one that gave up is four times as long: it must not be the one that is watched.
            grant = await patient.outcome(site.ttl * 2 + 0.5)
            assert grant.held
            engine.heal()

    @needs(scope="host")
    async def test_a_killed_waiter_is_skipped(self, site: Site) -> None:
        async with connect_to(site) as session, AsyncPuppet(site, "victim") as victim:
            held = await session.lock("a").acquire()
            victim.tell("acquire", name="a", timeout=20)
            await until_waiting(session, "a", 1)
            behind = AsyncAttempt(session.lock("a").acquire)
            await until_waiting(session, "a", 2)
            await victim.kill()
            await held.release()
            await (await behind.outcome(site.ttl * 2 + 1)).release()
