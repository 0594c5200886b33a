# Written by hand; the blocking twin under _sync is generated from it.
"""What depends on the way to the engine: plain or encrypted, one host or several, a socket of any kind.

A variant of an engine that differs in its transport alone runs this chapter instead of the whole contract.
"""

import pytest

from fencepost._runtime import aio as runtime
from fencepost.errors import AcquireTimeout, Lost, Unavailable
from fencepost.session._async.grant import AsyncGrant
from fencepost.testing.connection import connections, cut
from fencepost.testing.contract._async.attempt import AsyncAttempt, until
from fencepost.testing.contract._async.place import LASTING, connect_to, holders, until_free, until_waiting, waiters
from fencepost.testing.contract.need import needs
from fencepost.testing.contract.site import Site

MANY = 24
# More than a socket takes at once, and than a record of TLS or a frame of HTTP/2 holds.
LONG = [f"{number:03} {'é' * 1000}" for number in range(150)]


class AsyncTransportChapter:
    async def test_a_lock_is_taken_looked_at_handed_over_and_evicted(self, site: Site) -> None:
        async with connect_to(site) as first, connect_to(site, label="second") as second:
            grant = await first.lock("a", note="nightly").acquire()
            assert await second.lock("a").try_acquire() is None
            attempt = AsyncAttempt(second.lock("a").acquire)
            await until_waiting(first, "a", 1)
            assert list(await first.names()) == ["a"]
            assert (await first.look("a")).holders[0].claim.ask.note == "nightly"
            await grant.release()
            new = await attempt.outcome()
            assert new.token > grant.token
            assert await holders(first, "a") == ["second"]
            assert [claim.holder.label for claim in await first.evict("a")] == ["second"]
            await until_free(first, "a")
            with pytest.raises(Lost):
                await new.release()

    @needs("shared")
    async def test_readers_share_and_a_writer_waits_for_them(self, site: Site) -> None:
        async with connect_to(site) as first, connect_to(site, label="second") as second:
            one, two = [await session.rwlock("a").read().acquire() for session in (first, second)]
            attempt = AsyncAttempt(first.rwlock("a").write().acquire)
            await until_waiting(second, "a", 1)
            await one.release()
            await two.release()
            assert (await attempt.outcome()).token > max(one.token, two.token)

    @needs("counted")
    async def test_permits_are_counted(self, site: Site) -> None:
        async with connect_to(site) as first, connect_to(site, label="second") as second:
            await first.semaphore("a", limit=3, weight=2).acquire()
            assert await second.semaphore("a", limit=3, weight=2).try_acquire() is None
            assert await second.semaphore("a", limit=3).try_acquire() is not None

    async def test_several_names_are_taken_and_given_back(self, site: Site) -> None:
        async with connect_to(site) as first, connect_to(site, label="second") as second:
            async with first.lock_all(["a", "b", "c"]):
                assert await second.lock("b").try_acquire() is None
            assert await second.lock("b").try_acquire() is not None

    @needs("cells")
    async def test_a_leader_is_elected_and_followed(self, site: Site) -> None:
        async with connect_to(site) as first, connect_to(site, label="second") as second:
            leading = await first.election("a").campaign("one")
            attempt = AsyncAttempt(lambda: second.election("a").campaign("two"))
            await until_waiting(first, "a", 1)
            await leading.release()
            assert (await attempt.outcome()).token > leading.token

    async def test_long_requests_and_answers_arrive_whole(self, site: Site) -> None:
        async with connect_to(site) as session, connect_to(site, label="second") as second:
            grants = [await session.lock(name).acquire() for name in LONG]
            assert list(await session.names()) == sorted(LONG)
            assert (await second.look(LONG[-1])).holders[0].claim.token == grants[-1].token

    async def test_many_at_once_on_one_session_get_their_own_answers(self, site: Site) -> None:
        async with connect_to(site) as session, connect_to(site, label="second") as second:
            attempts = [AsyncAttempt(session.lock(f"name {number}").acquire) for number in range(MANY)]
            grants = [await attempt.outcome() for attempt in attempts]
            for number, grant in enumerate(grants):
                assert grant.name == f"name {number}"
                assert (await second.look(grant.name)).holders[0].claim.token == grant.token

    async def test_an_answer_that_nobody_waits_for_any_more_reaches_nobody_else(self, site: Site) -> None:
        async with connect_to(site) as session, connect_to(site, label="second") as second:
            await second.lock("taken").acquire()
            for number in range(MANY):
                name, free = "taken" if number % 2 else f"left {number}", f"free {number}"
                given_up = AsyncAttempt(session.lock(name, timeout=number / 5000).acquire)
                grant = await session.lock(free).acquire()
                assert (await second.look(free)).holders[0].claim.token == grant.token
                try:
                    await (await given_up.outcome()).release()
                except AcquireTimeout:
                    assert "first" not in await holders(second, name)
                assert await waiters(second, name) == []

    async def test_after_its_connections_were_cut_a_session_goes_on(self, site: Site) -> None:
        async with connect_to(site, label="other") as other:
            held = await other.lock("a").acquire()
            # From here on it has the connections that it needs to look, and only those of the session are cut.
            assert await holders(other, "a") == ["other"]
            before = connections()
            async with connect_to(site) as session:
                attempt = AsyncAttempt(_persistent(lambda: session.lock("a").acquire()))
                await until_waiting(other, "a", 1)
                kept = await session.lock("b").acquire()
                assert cut(connections() - before) or site.traits.scope != "network"
                await (await _persistent(lambda: session.lock("c").acquire())()).release()

                async def is_told_or_still_holds() -> bool:
                    seen = [(each.claim.holder.label, each.claim.token) for each in (await other.look("b")).holders]
                    return kept.lost.is_set() or seen == [("first", kept.token)]

                await until(is_told_or_still_holds)
                await held.release()
                assert (await attempt.outcome(LASTING * 3)).token > held.token


def _persistent(acquire: runtime.Work[AsyncGrant]) -> runtime.Work[AsyncGrant]:
    """Where a lease ends with its connection, an acquire that was under way says so, and the next one succeeds."""

    async def acquired() -> AsyncGrant:
        while True:
            try:
                return await acquire()
            except Unavailable:
                await runtime.sleep(0.01)

    return acquired
