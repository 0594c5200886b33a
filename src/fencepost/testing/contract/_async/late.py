# Written by hand; the blocking twin under _sync is generated from it.
"""The law of late arrivals: what was held up on the way, and comes after what followed it, has no effect.

In every test a message of one session is held up. The connection ends, the session goes on over another, and asks
again, gives up, or does something else with the same name. Then the server gets what was held up.

Where a lease ends with its connection, whatever was sent over it ends as well: such an engine is not tested here.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from fencepost.core.claim import Ask
from fencepost.errors import EngineError, Uncertain
from fencepost.primitives._async.acquirable import AsyncAcquirable
from fencepost.primitives._async.session import AsyncSession
from fencepost.session._async.grant import AsyncGrant
from fencepost.testing.contract._async.attempt import AsyncAttempt, until
from fencepost.testing.contract._async.place import (
    LASTING,
    connect_to,
    stand_in_line,
    there,
    until_free,
    until_waiting,
    waiters,
)
from fencepost.testing.contract.detour import Detour, detour
from fencepost.testing.contract.need import lacks, needs
from fencepost.testing.contract.site import Site

Wish = Callable[[AsyncSession], AsyncAcquirable[AsyncGrant]]


class AsyncLateChapter:
    @needs(scope="network")
    @lacks(death="at once")
    async def test_a_claim_that_comes_after_it_was_given_up_takes_nothing(self, site: Site) -> None:
        await _given_up(site, _exclusive)

    @needs("shared", scope="network")
    @lacks(death="at once")
    async def test_a_readers_claim_that_comes_after_it_was_given_up_takes_nothing(self, site: Site) -> None:
        await _given_up(site, _shared)

    @needs("counted", scope="network")
    @lacks(death="at once")
    async def test_a_counted_claim_that_comes_after_it_was_given_up_takes_nothing(self, site: Site) -> None:
        await _given_up(site, _counted)

    @needs(scope="network")
    @lacks(death="at once")
    async def test_a_claim_that_comes_after_its_release_takes_nothing(self, site: Site) -> None:
        await _released(site, _exclusive)

    @needs("shared", scope="network")
    @lacks(death="at once")
    async def test_a_readers_claim_that_comes_after_its_release_takes_nothing(self, site: Site) -> None:
        await _released(site, _shared)

    @needs("counted", scope="network")
    @lacks(death="at once")
    async def test_a_counted_claim_that_comes_after_its_release_takes_nothing(self, site: Site) -> None:
        await _released(site, _counted)

    @needs(scope="network")
    @lacks(death="at once")
    async def test_a_claim_that_comes_twice_is_granted_once(self, site: Site) -> None:
        with detour(site) as way:
            async with _warm(way) as session, connect_to(site, label="other") as other:
                way.detain()
                grant = await _held_up(way, AsyncAttempt(lambda: session.lock("a").acquire(timeout=LASTING)))
                way.deliver()
                seen = [(each.claim.holder.label, each.claim.token) for each in (await other.look("a")).holders]
                assert seen == [("first", grant.token)]
                await grant.release()
                assert await there(other, "a") == ([], [])

    @needs(scope="network")
    @lacks(death="at once")
    @pytest.mark.parametrize("again", [False, True])
    async def test_a_waiters_claim_that_comes_after_it_went_away_takes_no_place(self, site: Site, again: bool) -> None:
        with detour(site) as way:
            async with _warm(way) as session, connect_to(site, label="other") as other:
                held = await other.lock("a").acquire()
                request = (await session.keeper()).request((Ask("a"),))
                way.detain()
                await _sent(way, AsyncAttempt(lambda: session.engine.claim(request, wait=True)))
                if again:
                    await session.engine.claim(request, wait=True)
                await session.engine.withdraw(request)
                way.deliver()
                assert await waiters(other, "a") == []
                await held.release()
                assert await there(other, "a") == ([], [])

    @needs(scope="network")
    @lacks(death="at once")
    async def test_a_release_that_comes_after_the_next_grant_takes_nothing_away(self, site: Site) -> None:
        with detour(site) as way:
            async with _warm(way) as session, connect_to(site, label="other") as other:
                first = await session.lock("a").acquire()
                way.detain()
                try:
                    await _held_up(way, AsyncAttempt(first.release))
                except (Uncertain, EngineError):
                    await until_free(other, "a")
                second = await session.lock("a").acquire(timeout=LASTING)
                way.deliver()
                seen = [(each.claim.holder.label, each.claim.token) for each in (await other.look("a")).holders]
                assert seen == [("first", second.token)]
                assert second.token > first.token
                assert await other.lock("a").try_acquire() is None

    @needs(scope="network")
    @lacks(death="at once")
    async def test_a_withdrawal_that_comes_after_the_next_claim_takes_no_place_away(self, site: Site) -> None:
        with detour(site) as way:
            async with _warm(way) as session, connect_to(site, label="other") as other:
                held = await other.lock("a").acquire()
                request = await stand_in_line(session, Ask("a"))
                way.detain()
                await _sent(way, AsyncAttempt(lambda: session.engine.withdraw(request)))
                await session.engine.withdraw(request)
                again = AsyncAttempt(lambda: session.lock("a").acquire(timeout=LASTING))
                await until_waiting(other, "a", 1)
                way.deliver()
                assert await waiters(other, "a") == ["first"]
                await held.release()
                assert (await again.outcome()).token > held.token

    @needs("downgrade", scope="network")
    @lacks(death="at once")
    async def test_a_share_that_comes_after_the_next_grant_lets_nobody_in(self, site: Site) -> None:
        with detour(site) as way:
            async with _warm(way) as session, connect_to(site, label="other") as other:
                first = await session.rwlock("a").write().acquire()
                way.detain()
                try:
                    await _held_up(way, AsyncAttempt(first.share))
                except Uncertain:
                    await first.share()
                await first.release()
                second = await session.rwlock("a").write().acquire()
                way.deliver()
                assert await other.rwlock("a").read().try_acquire() is None
                assert second.held


def _exclusive(session: AsyncSession) -> AsyncAcquirable[AsyncGrant]:
    return session.lock("a")


def _shared(session: AsyncSession) -> AsyncAcquirable[AsyncGrant]:
    return session.rwlock("a").read()


def _counted(session: AsyncSession) -> AsyncAcquirable[AsyncGrant]:
    return session.semaphore("a", limit=2)


async def _given_up(site: Site, wish: Wish) -> None:
    with detour(site) as way:
        async with _warm(way) as session, connect_to(site, label="other") as other:
            way.detain()
            try:
                grant = await _held_up(way, AsyncAttempt(lambda: wish(session).try_acquire()))
            except (Uncertain, EngineError):
                await until_free(other, "a")
            else:
                await grant.release()
            way.deliver()
            assert await there(other, "a") == ([], [])


async def _released(site: Site, wish: Wish) -> None:
    with detour(site) as way:
        async with _warm(way) as session, connect_to(site, label="other") as other:
            way.detain()
            grant = await _held_up(way, AsyncAttempt(lambda: wish(session).acquire(timeout=LASTING)))
            await grant.release()
            way.deliver()
            assert await there(other, "a") == ([], [])


async def _held_up(way: Detour, attempt: AsyncAttempt[Any]) -> Any:
    """What comes of it when its message is held up and its connection ends."""

    async def under_way() -> bool:
        return way.has_kept() or attempt.ended.is_set()

    await until(under_way)
    assert way.has_kept(), "it was sent over a connection that was not there before"
    way.hang_up()
    return await attempt.outcome()


async def _sent(way: Detour, attempt: AsyncAttempt[Any]) -> None:
    """The same for a call whose outcome does not matter: nobody knows it."""
    try:
        await _held_up(way, attempt)
    except EngineError:
        pass


@asynccontextmanager
async def _warm(way: Detour) -> AsyncIterator[AsyncSession]:
    """A session that has a lease, and the connections that it needs to ask and to wait."""
    async with connect_to(way.site) as session:
        grant = await session.lock("warm").acquire()
        await session.engine.withdraw(await stand_in_line(session, Ask("warm")))
        await grant.release()
        yield session
