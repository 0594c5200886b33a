# Written by hand; the blocking twin under _sync is generated from it.
"""The law of liveness: what is dead is free in time, what is alive is kept, and failing is loud."""

import logging
import math

import pytest

from fencepost.core.claim import Ask
from fencepost.core.event import Evicted, LeaseLost, Lost
from fencepost.errors import Lost as LostError
from fencepost.errors import SessionClosed, Unavailable
from fencepost.testing.contract._async.attempt import WITHIN, AsyncAttempt, until
from fencepost.testing.contract._async.place import (
    LASTING,
    STURDY,
    AsyncBriskClock,
    connect_brisk,
    connect_faulty,
    connect_to,
    holders,
    stand_in_line,
    there,
    until_free,
    until_queued,
    until_waiting,
)
from fencepost.testing.contract._async.puppet import AsyncPuppet
from fencepost.testing.contract.need import lacks, needs
from fencepost.testing.contract.site import Site


class AsyncLivenessChapter:
    async def test_a_lock_is_shared_as_far_as_the_scope_says_and_no_further(self, site: Site) -> None:
        async with AsyncPuppet(site, "other process", ttl=LASTING) as other, connect_to(site) as session:
            await other.ask("acquire", name="a", timeout=0)
            ours = await session.lock("a").try_acquire()
            assert (ours is not None) is (site.traits.scope == "process")

    @needs(scope="host")
    async def test_a_killed_holder_is_noticed_by_whoever_waits(self, site: Site) -> None:
        async with AsyncPuppet(site, "victim", ttl=_deadly(site)) as victim, connect_to(site) as session:
            await victim.ask("acquire", name="a", timeout=0)
            attempt = AsyncAttempt(session.lock("a").acquire)
            await until_queued(session, "a", attempt)
            victim.kill_at_once()
            await (await attempt.outcome()).release()

    @needs(scope="host")
    async def test_a_killed_holder_is_noticed_by_whoever_comes_later(self, site: Site) -> None:
        async with AsyncPuppet(site, "victim", ttl=_deadly(site)) as victim, connect_to(site) as session:
            await victim.ask("acquire", name="a", timeout=0)
            victim.kill_at_once()
            await (await session.lock("a").acquire(timeout=WITHIN)).release()

    @lacks(death="at once")
    async def test_a_release_passes_over_a_waiter_whose_lease_has_ended(self, site: Site) -> None:
        dying, engine = connect_faulty(site, label="dying")
        async with dying, connect_to(site) as first, connect_to(site, label="second") as second:
            held = await first.lock("a").acquire()
            await stand_in_line(dying, Ask("a"))
            # It has a place, and does not look itself who stands before it.
            await stand_in_line(second, Ask("a"))
            engine.cut()
            await until_waiting(first, "a", 1)
            await held.release()
            assert await holders(first, "a") == ["second"]
            engine.heal()

    @needs(scope="host")
    async def test_a_stopped_holder_loses_the_lock_after_its_ttl_and_not_before(self, site: Site) -> None:
        async with AsyncPuppet(site, "stopped") as stopped, connect_to(site) as session:
            await stopped.ask("acquire", name="a", timeout=0)
            attempt = AsyncAttempt(session.lock("a").acquire)
            await until_queued(session, "a", attempt)
            ends_at = (await stopped.ask("ends_at", name="a"))["ends_at"]
            stopped.stop()
            # Its last renewal was then, or later.
            assert (await attempt.outcome()).granted_at >= ends_at
            stopped.resume()

    async def test_a_session_that_could_not_be_entered_is_closed(self, site: Site) -> None:
        session, engine = connect_faulty(site)
        engine.lose_reply("lease_open")
        with pytest.raises(Unavailable):
            async with session:
                raise AssertionError("it was entered")
        with pytest.raises(SessionClosed):
            await session.lock("a").acquire()

    async def test_closing_a_session_frees_what_it_holds_at_once(self, site: Site) -> None:
        async with connect_to(site) as second:
            first = connect_to(site, label="first")
            held = [await first.lock(name).acquire() for name in "abc"]
            waiting = AsyncAttempt(second.lock("b").acquire)
            await until_waiting(second, "b", 1)
            await first.close()
            await (await waiting.outcome()).release()
            assert [await holders(second, name) for name in "abc"] == [[], [], []]
            assert not any(grant.held for grant in held)

    async def test_a_living_holder_keeps_the_lock_for_longer_than_its_lease(self, site: Site) -> None:
        first, _ = connect_faulty(site, label="first", ttl=STURDY)
        second, _ = connect_faulty(site, label="second", ttl=STURDY)
        async with first, second:
            async with first.lock("a") as grant:
                attempt = AsyncAttempt(second.lock("a").acquire)
                # Twice as long where the engine lets a lease outlive its holder for so long.
                assert not await attempt.ended.wait(STURDY * site.traits.overrun + 0.5)
                assert grant.held
            await (await attempt.outcome()).release()

    async def test_one_call_renews_everything_a_session_holds(self, site: Site) -> None:
        session, engine = connect_brisk(site)
        async with session:
            grants = [await session.lock(f"name {number}").acquire() for number in range(100)]
            engine.calls.clear()
            await engine.called("lease_renew", times=2)
            assert [call for call in engine.calls if call != "lease_renew"] == []
            assert all(grant.held for grant in grants)

    async def test_a_lost_lease_is_loud_and_tells_every_grant(
        self, site: Site, caplog: pytest.LogCaptureFixture
    ) -> None:
        happened: list[object] = []
        async with connect_to(site, clock=AsyncBriskClock()) as session:
            session.subscribe(happened.append, Lost, LeaseLost)
            grants = [await session.lock(name).acquire() for name in "ab"]
            keeper = await session.keeper()
            with caplog.at_level(logging.ERROR, logger="fencepost"):
                await session.engine.lease_close(keeper.holder)
                assert await keeper.lost.wait(WITHIN)

                async def announced() -> bool:
                    return len(happened) == 3 and "lease lost" in caplog.text

                await until(announced)
            assert [type(event) for event in happened] == [Lost, Lost, LeaseLost]
            assert all(grant.lost.is_set() for grant in grants)
            assert session.statistics().lost == 2
            assert "lost 'a'" in caplog.text

    async def test_after_a_loss_the_session_opens_another_lease(self, site: Site) -> None:
        session, engine = connect_faulty(site)
        async with session:
            old = await session.lock("a").acquire()
            engine.cut()
            assert await old.lost.wait(WITHIN)
            engine.heal()
            async with session.lock("a", timeout=WITHIN) as new:
                assert new.token > old.token
                assert new.holder.id != old.holder.id
                assert not old.held

    async def test_what_a_session_lost_is_free_in_time_though_it_looks_all_the_while(self, site: Site) -> None:
        """Renewals keep a lease, and nothing else that is asked."""
        session, engine = connect_faulty(site)
        async with session:
            old = await session.lock("a").acquire()
            engine.refuse("lease_renew", math.inf)
            assert await old.lost.wait(WITHIN)

            async def free() -> bool:
                return await there(session, "a") == ([], [])

            await until(free)

    async def test_an_evicted_holder_is_told_at_its_next_renewal_by_whom(self, site: Site) -> None:
        happened: list[object] = []
        first, _ = connect_brisk(site, label="first")
        async with first, connect_to(site, label="operator") as second:
            grant = await first.lock("a").acquire()
            other = await first.lock("b").acquire()
            second.subscribe(happened.append, Evicted)
            taken = await second.evict("a")
            assert [(claim.holder.label, claim.token) for claim in taken] == [("first", grant.token)]
            assert await grant.lost.wait(WITHIN)
            with pytest.raises(LostError, match="evicted by operator"):
                grant.check()
            assert other.held
            snapshot = await second.look("a")
            assert [(each.token, each.evicted, each.by) for each in snapshot.evictions] == [
                (grant.token, "first", "operator")
            ]
            assert [type(event) for event in happened] == [Evicted]
            assert await second.evict("a") == ()

    async def test_an_eviction_hands_the_name_to_the_next_waiter(self, site: Site) -> None:
        async with connect_to(site) as first, connect_to(site, label="second") as second:
            await first.lock("a").acquire()
            attempt = AsyncAttempt(second.lock("a").acquire)
            await until_waiting(first, "a", 1)
            await first.evict("a")
            await (await attempt.outcome()).release()

    async def test_names_lists_what_is_held_or_waited_for(self, site: Site) -> None:
        async with connect_to(site) as session:
            for name in ("b/2", "a/1", "b/1", "b%"):
                await session.lock(name).acquire()
            assert list(await session.names()) == ["a/1", "b%", "b/1", "b/2"]
            assert list(await session.names("b/")) == ["b/1", "b/2"]
            assert list(await session.names("b%")) == ["b%"]

    async def test_names_may_be_any_text(self, site: Site) -> None:
        names = ["ключ", "with space", "a/../b", "'; DROP TABLE claim; --", "x" * 1024, "🔒" * 1024, "{a}:b*?[c]\n"]
        async with connect_to(site) as session:
            for name in names:
                async with session.lock(name) as grant:
                    assert grant.name == name
                    assert name in await session.names()
                    assert (await session.look(name)).holders[0].claim.token == grant.token
            for name in names:
                await until_free(session, name)

    async def test_look_shows_who_holds_who_waits_and_for_how_long(self, site: Site) -> None:
        async with connect_to(site) as first, connect_to(site, label="second") as second:
            async with first.lock("a", note="nightly") as grant:
                attempt = AsyncAttempt(second.lock("a").acquire)
                await until_waiting(first, "a", 1)
                snapshot = await first.look("a")
                (holder,), (waiter,) = snapshot.holders, snapshot.waiters
                assert (holder.claim.holder.label, holder.claim.token) == ("first", grant.token)
                assert holder.claim.ask.note == "nightly"
                assert waiter.claim.holder.label == "second"
                assert 0 <= holder.since < WITHIN
                assert 0 < holder.remaining <= LASTING * 2

                async def has_stood_longer() -> bool:
                    return (await first.look("a")).holders[0].since > holder.since

                await until(has_stood_longer)
            await (await attempt.outcome()).release()


def _deadly(site: Site) -> float:
    """The lease of one that is killed: where a death is noticed at once, it is not the end of the lease that tells."""
    return LASTING if site.traits.death == "at once" else site.ttl
