# Written by hand; the blocking twin under _sync is generated from it.
"""The law of tokens: for one name they strictly increase in grant order, for ever."""

import pytest

from fencepost.errors import Lost
from fencepost.testing.contract._async.attempt import WITHIN, AsyncAttempt
from fencepost.testing.contract._async.place import connect_brisk, connect_faulty, connect_to, holders, until_waiting
from fencepost.testing.contract._async.puppet import AsyncPuppet
from fencepost.testing.contract.need import needs
from fencepost.testing.contract.site import Site


class AsyncTokenChapter:
    async def test_a_token_is_a_positive_integer(self, site: Site) -> None:
        async with connect_to(site) as session, session.lock("a") as grant:
            assert isinstance(grant.token, int)
            assert 0 < grant.token < 2**63

    async def test_tokens_grow_from_grant_to_grant(self, site: Site) -> None:
        async with connect_to(site) as session:
            tokens = []
            for _ in range(50):
                async with session.lock("a") as grant:
                    tokens.append(grant.token)
            assert tokens == sorted(set(tokens))

    async def test_tokens_grow_from_session_to_session(self, site: Site) -> None:
        tokens = []
        for number in range(5):
            async with connect_to(site, label=f"session {number}") as session, session.lock("a") as grant:
                tokens.append(grant.token)
        assert tokens == sorted(set(tokens))

    async def test_a_renewal_keeps_the_token(self, site: Site) -> None:
        session, engine = connect_brisk(site)
        async with session, session.lock("a") as grant:
            before = grant.token
            await engine.called("lease_renew", times=2)
            assert grant.held
            assert grant.token == before
            assert (await session.look("a")).holders[0].claim.token == before

    async def test_a_re_entry_keeps_the_token(self, site: Site) -> None:
        async with connect_to(site) as session:
            async with session.lock("a", reentrant=True) as outer:
                async with session.lock("a", reentrant=True) as inner:
                    assert inner.token == outer.token
                assert outer.held
                assert await session.lock("a").try_acquire() is None
            grant = await session.lock("a").try_acquire()
            assert grant is not None
            assert grant.token > outer.token

    async def test_a_grant_handed_over_has_a_higher_token(self, site: Site) -> None:
        async with connect_to(site) as first, connect_to(site, label="second") as second:
            grant = await first.lock("a").acquire()
            attempt = AsyncAttempt(second.lock("a").acquire)
            await until_waiting(first, "a", 1)
            await grant.release()
            assert (await attempt.outcome()).token > grant.token

    async def test_the_token_grows_after_the_lease_ran_out(self, site: Site) -> None:
        session, engine = connect_faulty(site)
        async with session, connect_to(site, label="second") as second:
            old = await session.lock("a").acquire()
            engine.cut()
            new = await second.lock("a").acquire(timeout=WITHIN)
            assert new.token > old.token
            assert not old.held
            engine.heal()

    async def test_the_token_grows_after_an_eviction(self, site: Site) -> None:
        async with connect_to(site) as first, connect_to(site, label="second") as second:
            old = await first.lock("a").acquire()
            await second.evict("a")
            new = await second.lock("a").acquire(timeout=0)
            assert new.token > old.token

    @needs("shared")
    async def test_every_reader_has_a_token_of_its_own(self, site: Site) -> None:
        async with connect_to(site) as first, connect_to(site, label="second") as second:
            readers = [await session.rwlock("a").read().acquire(timeout=0) for session in (first, second, first)]
            tokens = [reader.token for reader in readers]
            assert tokens == sorted(set(tokens))
            for reader in readers:
                await reader.release()
            async with second.rwlock("a").write() as writer:
                assert writer.token > max(tokens)

    async def test_a_claim_whose_reply_was_lost_has_one_token(self, site: Site) -> None:
        session, engine = connect_brisk(site)
        async with session:
            engine.lose_reply("claim")
            async with session.lock("a") as grant:
                held = (await session.look("a")).holders
                assert [standing.claim.token for standing in held] == [grant.token]

    @needs(scope="host")
    async def test_the_token_grows_after_the_holder_was_killed(self, site: Site) -> None:
        async with AsyncPuppet(site, "victim") as victim, connect_to(site) as session:
            old = await victim.ask("acquire", name="a", timeout=0)
            await victim.kill()
            new = await session.lock("a").acquire(timeout=WITHIN)
            assert new.token > old["token"]

    async def test_only_exactly_this_grant_is_released(self, site: Site) -> None:
        async with connect_to(site) as first, connect_to(site, label="second") as second:
            old = await first.lock("a").acquire()
            await second.evict("a")
            new = await first.lock("a").acquire(timeout=0)
            with pytest.raises(Lost):
                await old.release()
            assert new.held
            assert await holders(second, "a") == ["first"]
