# Written by hand; the blocking twin under _sync is generated from it.
"""The law of waiting: first come, first served, woken by push, one waiter per release."""

from functools import partial

import pytest

from fencepost._runtime import aio as runtime
from fencepost.contract.answer import Queued
from fencepost.core.claim import Ask
from fencepost.core.event import Event, Unsettled
from fencepost.errors import FencepostError
from fencepost.testing.contract._async.attempt import AsyncAttempt, until
from fencepost.testing.contract._async.place import (
    LASTING,
    connect_faulty,
    connect_to,
    holders,
    stand_in_line,
    until_waiting,
    waiters,
)
from fencepost.testing.contract._async.puppet import AsyncPuppet
from fencepost.testing.contract.need import needs
from fencepost.testing.contract.site import Site


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

    async def test_all_who_begin_to_wait_at_once_in_a_new_session_are_answered(self, site: Site) -> None:
        async with connect_to(site) as other, connect_to(site, label="new") as session:
            held = await other.lock("a").acquire()
            keeper = await session.keeper()
            requests = [keeper.request((Ask("a"),)) for _ in range(6)]
            # Past the session, which would ask again where the engine does not answer.
            claims = [AsyncAttempt(partial(session.engine.claim, request, wait=True)) for request in requests]
            for claim in claims:
                assert isinstance(await claim.outcome(), Queued)
            assert len(await waiters(other, "a")) == len(requests)
            for request in requests:
                await session.engine.withdraw(request)
            assert await waiters(other, "a") == []
            await held.release()

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
            AsyncPuppet(site, "one", ttl=LASTING) as one,
            AsyncPuppet(site, "two", ttl=LASTING) as two,
            AsyncPuppet(site, "three", ttl=LASTING) as three,
        ):
            held = await session.lock("a").acquire()
            line = [three, one, two]
            for number, puppet in enumerate(line):
                puppet.tell("acquire", name="a", timeout=None)
                await until_waiting(session, "a", number + 1)
            await held.release()
            tokens = []
            for puppet in line:
                tokens.append((await puppet.answer())["token"])
                assert await holders(session, "a") == [puppet.label]
                await puppet.ask("release", name="a")
            assert tokens == sorted(set(tokens))

    async def test_a_sleeping_waiter_is_woken_by_push(self, site: Site) -> None:
        session, engine = connect_faulty(site, ttl=LASTING)
        async with session, connect_to(site) as first:
            for round in range(1, 4):
                held = await first.lock("a").acquire()
                attempt = AsyncAttempt(session.lock("a").acquire)
                await until_waiting(first, "a", 1)
                await engine.called("wait", times=round)
                calls = list(engine.calls)
                # Long enough for whoever polls to have asked again.
                await runtime.sleep(0.1)
                await held.release()
                grant = await attempt.outcome()
                # It asked for nothing more, and had no reason to look by itself: the next renewal is far away.
                assert engine.calls == calls
                await grant.release()

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
            impatient = await stand_in_line(second, Ask("a"))
            patient = AsyncAttempt(third.lock("a").acquire)
            await until_waiting(first, "a", 2)
            await second.engine.withdraw(impatient)
            await held.release()
            # Well before the lease of the one that gave up would have ended.
            await (await patient.outcome()).release()

    async def test_a_waiter_behind_one_that_gave_up_still_notices_the_end_of_the_holder(self, site: Site) -> None:
        session, engine = connect_faulty(site)
        async with (
            session,
            connect_to(site, label="second") as second,
            connect_to(site, label="third") as third,
        ):
            await session.lock("a").acquire()
            impatient = await stand_in_line(second, Ask("a"))
            patient = AsyncAttempt(third.lock("a").acquire)

            async def queued() -> bool:
                return patient.ended.is_set() or "third" in await waiters(second, "a")

            await until(queued)
            await second.engine.withdraw(impatient)
            engine.cut()
            # The lease of the one that gave up is much longer: it must not be the one that is watched.
            grant = await patient.outcome()
            assert grant.held
            engine.heal()

    @needs(scope="host")
    async def test_a_killed_waiter_is_skipped(self, site: Site) -> None:
        async with connect_to(site) as session, AsyncPuppet(site, "victim") as victim:
            held = await session.lock("a").acquire()
            victim.tell("acquire", name="a", timeout=None)
            await until_waiting(session, "a", 1)
            behind = AsyncAttempt(session.lock("a").acquire)
            await until_waiting(session, "a", 2)
            await victim.kill()
            await held.release()
            await (await behind.outcome()).release()
