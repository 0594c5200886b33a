# Written by hand; the blocking twin under _sync is generated from it.
"""Elections: one leader at a time, terms that only grow, and every change seen in order."""

import pytest

from fencepost._runtime import aio as runtime
from fencepost.core.election import Leader
from fencepost.core.lease import Terms
from fencepost.errors import AcquireTimeout, Lost, NotHeld, Unsupported
from fencepost.testing.contract._async.attempt import WITHIN, AsyncAttempt, until
from fencepost.testing.contract._async.place import STURDY, connect_faulty, connect_to, until_queued, until_waiting
from fencepost.testing.contract._async.puppet import AsyncPuppet
from fencepost.testing.contract.need import needs
from fencepost.testing.contract.site import Site


class AsyncElectionChapter:
    async def test_an_engine_without_cells_says_so_when_an_election_is_made(self, site: Site) -> None:
        async with connect_to(site) as session:
            if site.traits.cells:
                assert session.election("a").name == "a"
            else:
                with pytest.raises(Unsupported, match="keeps no shared values"):
                    session.election("a")

    @needs("cells")
    async def test_the_elected_leads_with_its_value_until_it_resigns(self, site: Site) -> None:
        async with connect_to(site) as first, connect_to(site, label="second") as second:
            ours, theirs = first.election("a"), second.election("a")
            assert await theirs.leader() is None
            grant = await ours.campaign("one")
            assert await theirs.leader() == Leader(grant.token, "one", "first")
            await ours.proclaim("uno")
            assert await theirs.leader() == Leader(grant.token, "uno", "first")
            with pytest.raises(AcquireTimeout, match="held by first"):
                await theirs.campaign("two", timeout=0.1)
            attempt = AsyncAttempt(lambda: theirs.campaign("two"))
            await until_waiting(first, "a", 1)
            await ours.resign()
            next_term = (await attempt.outcome()).token
            assert next_term > grant.token
            assert await ours.leader() == Leader(next_term, "two", "second")
            await theirs.resign()
            assert await ours.leader() is None

    @needs("cells")
    async def test_whoever_did_not_campaign_has_nothing_to_say(self, site: Site) -> None:
        async with connect_to(site) as session:
            with pytest.raises(NotHeld, match="campaign first"):
                await session.election("a").proclaim("me")
            with pytest.raises(NotHeld, match="campaign first"):
                await session.election("a").resign()

    @needs("cells")
    async def test_an_observer_sees_every_change_in_order(self, site: Site) -> None:
        async with connect_to(site) as first, connect_to(site, label="watcher") as watcher:
            election = first.election("a")
            await election.campaign("0")
            seen: list[Leader] = []

            async def observe() -> None:
                async for leader in watcher.election("a").observe():
                    assert leader is not None
                    seen.append(leader)
                    if leader.value == "9":
                        return

            attempt = AsyncAttempt(observe)

            async def started() -> bool:
                return bool(seen)

            await until(started)
            for number in range(1, 10):
                if number % 3:
                    await election.proclaim(str(number))
                else:
                    await election.resign()
                    await election.campaign(str(number))
            await attempt.outcome()
            assert [leader.value for leader in seen] == [str(number) for number in range(10)]
            assert sum(leader.missed for leader in seen) == 0
            terms = [leader.term for leader in seen]
            assert terms == sorted(terms)
            assert len(set(terms)) == 4

    @needs("cells")
    async def test_an_observer_is_told_that_nobody_leads(self, site: Site) -> None:
        async with connect_to(site) as first, connect_to(site, label="watcher") as watcher:
            # It looks as often as one with a short lease would, and keeps its own.
            watcher.terms = Terms(site.ttl)
            election = first.election("a")
            one = await election.campaign("one")
            seen: list[Leader | None] = []
            told = runtime.Event()

            async def observe() -> None:
                async for leader in watcher.election("a").observe():
                    seen.append(leader)
                    told.set()
                    if len(seen) == 3:
                        return

            attempt = AsyncAttempt(observe)
            assert await told.wait(WITHIN)
            told.clear()
            await election.resign()
            assert await told.wait(WITHIN)
            # Nor does one that comes now take the last leader for one that leads.
            async for leader in watcher.election("a").observe():
                assert leader is None
                break
            two = await election.campaign("two")
            await attempt.outcome()
            assert seen == [Leader(one.token, "one", "first"), None, Leader(two.token, "two", "first")]

    @needs("cells")
    async def test_an_observer_goes_on_when_the_engine_did_not_answer(self, site: Site) -> None:
        session, engine = connect_faulty(site, label="watcher", ttl=STURDY)
        async with session, connect_to(site) as first:
            engine.refuse("cell_watch", 2)
            seen: list[Leader | None] = []
            async for leader in session.election("a").observe():
                seen.append(leader)
                if leader is not None:
                    break
                await first.election("a").campaign("one")
            assert [None if leader is None else leader.value for leader in seen] == [None, "one"]

    @needs("cells")
    async def test_the_next_is_elected_when_the_leader_is_cut_off_and_the_old_one_knows_first(self, site: Site) -> None:
        session, engine = connect_faulty(site)
        async with session, connect_to(site, label="second") as second:
            old = await session.election("a").campaign("old")
            attempt = AsyncAttempt(lambda: second.election("a").campaign("new"))
            await until_queued(second, "a", attempt)
            engine.cut()
            new = await attempt.outcome()
            assert not old.held
            assert new.token > old.token
            engine.heal()
            with pytest.raises(Lost):
                old.check()
            leader = await second.election("a").leader()
            assert leader is not None
            assert leader.value == "new"

    @needs("cells")
    async def test_a_block_leads_inside_and_resigns_at_its_end(self, site: Site) -> None:
        async with connect_to(site) as session:
            async with session.election("a", value="me") as grant:
                leader = await session.election("a").leader()
                assert leader is not None
                assert leader.term == grant.token
            assert await session.election("a").leader() is None

    @needs("cells")
    async def test_a_leader_that_is_not_healthy_any_more_stops_and_then_another_leads(self, site: Site) -> None:
        well = runtime.Event()
        well.set()

        async def healthy() -> bool:
            return well.is_set()

        async with connect_to(site) as first, connect_to(site, label="second") as second:
            election = first.election("a", value="sick", healthy=healthy, check_every=0.02)
            grant = await election.acquire()
            attempt = AsyncAttempt(lambda: second.election("a").campaign("well"))
            await until_waiting(first, "a", 1)
            well.clear()
            assert await grant.lost.wait(WITHIN)
            # It has not stopped yet: nobody else leads.
            assert not attempt.ended.is_set()
            with pytest.raises(Lost, match="not healthy any more"):
                await grant.release()
            assert (await attempt.outcome()).held
            with pytest.raises(AcquireTimeout):
                await election.acquire(timeout=0.1)

    @needs("cells")
    async def test_a_health_check_that_raises_ends_the_lead(self, site: Site) -> None:
        well = runtime.Event()
        well.set()

        async def healthy() -> bool:
            if not well.is_set():
                raise ConnectionRefusedError("the probe can not connect")
            return True

        async with connect_to(site) as session:
            grant = await session.election("a", healthy=healthy, check_every=0.02).acquire()
            well.clear()
            assert await grant.lost.wait(WITHIN)
            with pytest.raises(Lost, match="not healthy any more: its health check raised ConnectionRefusedError"):
                await grant.release()

    @needs("cells", scope="host")
    async def test_a_killed_leader_is_followed(self, site: Site) -> None:
        async with AsyncPuppet(site, "victim") as victim, connect_to(site) as session:
            term = (await victim.ask("campaign", name="a", value="victim"))["token"]
            leader = await session.election("a").leader()
            assert leader == Leader(term, "victim", "victim")
            await victim.kill()
            grant = await session.election("a").campaign("next", timeout=WITHIN)
            assert grant.token > term
