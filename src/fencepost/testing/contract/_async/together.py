# Written by hand; the blocking twin under _sync is generated from it.
"""Several locks at once: all or none, a token for each name, and no deadlock in whatever order they are named."""

import pytest

from fencepost.errors import AcquireTimeout, Lost, Uncertain
from fencepost.primitives._async.session import AsyncSession
from fencepost.testing.contract._async.attempt import WITHIN, AsyncAttempt
from fencepost.testing.contract._async.place import (
    LASTING,
    connect_brisk,
    connect_faulty,
    connect_to,
    holders,
    until_free,
    until_waiting,
)
from fencepost.testing.contract.site import Site

ROUNDS = 15


class AsyncTogetherChapter:
    async def test_every_name_has_a_token_of_its_own_above_its_last_one(self, site: Site) -> None:
        async with connect_to(site) as session:
            async with session.lock("b") as before:
                pass
            async with session.lock_all(["b", "a", "c"]) as grants:
                assert list(grants) == ["a", "b", "c"]
                assert grants.held
                assert grants["b"].token > before.token
                assert grants.tokens == {name: grants[name].token for name in "abc"}
                assert [await holders(session, name) for name in "abc"] == [["first"]] * 3
                grants.require(LASTING / 4)
            assert [await holders(session, name) for name in "abc"] == [[], [], []]

    async def test_one_that_is_held_refuses_all_and_leaves_nothing(self, site: Site) -> None:
        async with connect_to(site) as first, connect_to(site, label="second") as second, first.lock("b"):
            assert await second.lock_all(["a", "b"]).try_acquire() is None
            with pytest.raises(AcquireTimeout, match="locks 'a', 'b' not acquired"):
                await second.lock_all(["a", "b"]).acquire(timeout=0.1)
            assert await holders(first, "a") == []
            assert (await first.look("b")).waiters == ()

    async def test_whoever_waits_for_several_gets_them_when_all_are_free(self, site: Site) -> None:
        async with connect_to(site) as first, connect_to(site, label="second") as second:
            held = await first.lock("b").acquire()
            both = AsyncAttempt(second.lock_all(["a", "b"]).acquire)
            await until_waiting(first, "b", 1)
            if site.traits.together:
                assert await holders(first, "a") == []
                # Its turn on 'a' is kept, too.
                assert await first.lock("a").try_acquire() is None
            await held.release()
            grants = await both.outcome()
            assert [await holders(first, name) for name in "ab"] == [["second"], ["second"]]
            await grants.release()
            assert [await holders(first, name) for name in "ab"] == [[], []]

    async def test_one_of_them_may_be_given_back_before_the_others(self, site: Site) -> None:
        async with connect_to(site) as session:
            grants = await session.lock_all(["a", "b"]).acquire()
            await grants["a"].release()
            assert not grants.held
            assert [await holders(session, name) for name in "ab"] == [[], ["first"]]
            await grants.release()
            assert await holders(session, "b") == []

    async def test_opposite_orders_never_deadlock(self, site: Site) -> None:
        async with connect_to(site) as first, connect_to(site, label="second") as second:

            async def forth() -> int:
                return await _hold_often(first, ["a", "b"])

            async def back() -> int:
                return await _hold_often(second, ["b", "a"])

            attempts = [AsyncAttempt(forth), AsyncAttempt(back)]
            assert [await attempt.outcome(60) for attempt in attempts] == [ROUNDS, ROUNDS]

    async def test_losing_one_of_them_ends_them_all(self, site: Site) -> None:
        first, _ = connect_brisk(site, label="first")
        async with first, connect_to(site, label="operator") as operator:
            grants = await first.lock_all(["a", "b"]).acquire()
            await operator.evict("b")
            assert await grants["b"].lost.wait(WITHIN)
            with pytest.raises(Lost, match="evicted by operator"):
                grants.check()
            with pytest.raises(Lost):
                await grants.release()
            assert await holders(operator, "a") == []

    async def test_a_lost_answer_leaves_nothing_half_held(self, site: Site) -> None:
        session, engine = connect_brisk(site)
        async with session, connect_to(site, label="second") as second:
            engine.lose_reply("claim")
            async with session.lock_all(["a", "b"], timeout=WITHIN) as grants:
                assert grants.held
                assert [await holders(second, name) for name in "ab"] == [["faulty"], ["faulty"]]
            assert [await holders(second, name) for name in "ab"] == [[], []]

    async def test_all_are_given_back_in_one_call_to_whoever_waits_for_each(self, site: Site) -> None:
        session, engine = connect_faulty(site, ttl=LASTING)
        async with session, connect_to(site, label="second") as second:
            grants = await session.lock_all(["a", "b", "c"]).acquire()
            waiting = [AsyncAttempt(second.lock(name).acquire) for name in "ac"]
            for name in "ac":
                await until_waiting(second, name, 1)
            before = len(engine.calls)
            await grants.release()
            calls = [call for call in engine.calls[before:] if call != "lease_renew"]
            assert calls == (["release_all"] if site.traits.together else ["release"] * 3)
            assert grants.released
            for attempt in waiting:
                assert (await attempt.outcome()).held
            assert await holders(second, "b") == []

    async def test_one_that_was_taken_away_unheard_is_lost_and_the_others_are_given_back(self, site: Site) -> None:
        async with connect_to(site) as first, connect_to(site, label="operator") as operator:
            grants = await first.lock_all(["a", "b", "c"]).acquire()
            await operator.evict("b")
            with pytest.raises(Lost, match="'b'"):
                await grants.release()
            assert [await holders(operator, name) for name in "abc"] == [[], [], []]

    async def test_a_release_that_is_not_answered_is_settled_for_all(self, site: Site) -> None:
        session, engine = connect_brisk(site)
        method = "release_all" if site.traits.together else "release"
        async with session, connect_to(site, label="second") as second:
            for fault in (engine.lose_reply, engine.refuse):
                grants = await session.lock_all(["a", "b"]).acquire()
                fault(method)
                await grants.release()
                assert [await holders(second, name) for name in "ab"] == [[], []]
            grants = await session.lock_all(["a", "b"]).acquire()
            engine.refuse("release_all", 1)
            engine.refuse("release", 4)
            with pytest.raises(Uncertain, match="given up here"):
                await grants.release()
            # What was not settled then is at the next renewal.
            await until_free(second, "a")
            await until_free(second, "b")
            assert session.statistics().lost == 0

    async def test_no_name_or_one_twice_is_refused_at_once(self, site: Site) -> None:
        async with connect_to(site) as session:
            with pytest.raises(ValueError, match="at least one"):
                session.lock_all([])
            with pytest.raises(ValueError, match="named twice"):
                session.lock_all(["a", "b", "a"])
            with pytest.raises(TypeError, match="not one text"):
                session.lock_all("ab")


async def _hold_often(session: AsyncSession, names: list[str]) -> int:
    done = 0
    for _ in range(ROUNDS):
        async with session.lock_all(names, timeout=30) as grants:
            assert grants.held
            done += 1
    return done
