# Written by hand; the blocking twin under _sync is generated from it.
"""Groups: who is there, for as long as they live, and every change is told."""

from typing import cast

from fencepost._runtime import aio as runtime
from fencepost.contract._async.cell import AsyncCellEngine
from fencepost.core.lease import Terms
from fencepost.core.roster import Member
from fencepost.testing.contract._async.attempt import WITHIN, AsyncAttempt, until
from fencepost.testing.contract._async.place import STURDY, connect_faulty, connect_to
from fencepost.testing.contract._async.puppet import AsyncPuppet
from fencepost.testing.contract.need import needs
from fencepost.testing.contract.site import Site


def said(members: tuple[Member, ...]) -> list[tuple[str, str]]:
    return [(member.holder, member.data) for member in members]


class AsyncGroupChapter:
    @needs("cells")
    async def test_members_are_seen_in_order_of_arrival_until_they_leave(self, site: Site) -> None:
        async with connect_to(site) as first, connect_to(site, label="second") as second:
            group = second.group("g")
            assert await group.members() == ()
            one = await first.group("g").join("one")
            two = await group.join("two")
            assert said(await group.members()) == [("first", "one"), ("second", "two")]
            await one.update("uno")
            assert said(await group.members()) == [("first", "uno"), ("second", "two")]
            await one.leave()
            assert said(await group.members()) == [("second", "two")]
            assert two.held
            assert not one.held
            await two.leave()

    @needs("cells")
    async def test_a_block_is_a_member_inside(self, site: Site) -> None:
        async with connect_to(site) as session:
            async with session.group("g", data="here") as membership:
                (member,) = await session.group("g").members()
                assert member == Member(membership.id, "first", "here")
            assert await session.group("g").members() == ()

    @needs("cells")
    async def test_nothing_is_left_of_a_group_or_of_partitions_when_the_last_has_gone(self, site: Site) -> None:
        async with connect_to(site) as first, connect_to(site, label="second") as second:
            cells = cast(AsyncCellEngine, first.engine).cells
            one, two = await first.group("g").join("1"), await second.group("g").join("2")
            await one.leave()
            assert said(await first.group("g").members()) == [("second", "2")]
            await two.leave()
            assert tuple(await cells.read("group/g")) == (None, 0)
            async with first.partitions("g", 2):
                assert (await cells.read("partitions/g")).value is not None
            assert tuple(await cells.read("partitions/g")) == (None, 0)
            again = await first.group("g").join("3")
            assert said(await second.group("g").members()) == [("first", "3")]
            await again.leave()

    @needs("cells")
    async def test_a_watcher_is_told_who_comes_and_goes(self, site: Site) -> None:
        async with connect_to(site) as first, connect_to(site, label="watcher") as watcher:
            seen: list[list[str]] = []

            async def watch() -> None:
                async for members in watcher.group("g").watch():
                    seen.append([member.data for member in members])
                    if seen[-1] == ["end"]:
                        return

            attempt = AsyncAttempt(watch)

            async def started() -> bool:
                return bool(seen)

            await until(started)
            one = await first.group("g").join("one")

            async def told() -> bool:
                return seen[-1] == ["one"]

            await until(told)
            await one.leave()
            await first.group("g").join("end")
            await attempt.outcome()
            assert seen[0] == []

    @needs("cells")
    async def test_a_watcher_goes_on_when_the_engine_did_not_answer(self, site: Site) -> None:
        session, engine = connect_faulty(site, label="watcher", ttl=STURDY)
        async with session, connect_to(site) as first:
            engine.refuse("cell_watch", 2)
            seen: list[list[tuple[str, str]]] = []
            async for members in session.group("g").watch():
                seen.append(said(members))
                if members:
                    break
                await first.group("g").join("one")
            assert seen == [[], [("first", "one")]]

    @needs("cells")
    async def test_one_that_is_cut_off_is_struck_off_by_those_who_remain(self, site: Site) -> None:
        session, engine = connect_faulty(site)
        async with session, connect_to(site, label="second") as second, connect_to(site, label="watcher") as watcher:
            # It looks after its neighbour as often as one with a short lease would, and keeps its own.
            second.terms = Terms(site.ttl)
            lost = await session.group("g").join("lost")
            await second.group("g").join("stays")
            engine.cut()

            async def watch() -> None:
                async for members in watcher.group("g").watch():
                    if [member.data for member in members] == ["stays"]:
                        return

            await AsyncAttempt(watch).outcome()
            assert not lost.held
            engine.heal()

    @needs("cells", scope="host")
    async def test_a_watcher_is_told_that_the_last_member_has_died(self, site: Site) -> None:
        async with AsyncPuppet(site, "victim") as victim, connect_to(site, label="watcher") as watcher:
            await victim.ask("join", name="g", data="victim")
            # It looks as often as one with a short lease would, and keeps its own.
            watcher.terms = Terms(site.ttl)
            there = runtime.Event()

            async def watch() -> None:
                async for members in watcher.group("g").watch():
                    if not members:
                        return
                    there.set()

            attempt = AsyncAttempt(watch)
            assert await there.wait(WITHIN)
            await victim.kill()
            await attempt.outcome()

    @needs("cells", scope="host")
    async def test_whoever_asks_sees_no_member_of_a_killed_process(self, site: Site) -> None:
        async with AsyncPuppet(site, "victim") as victim, connect_to(site) as session:
            await victim.ask("join", name="g", data="victim")
            group = session.group("g")
            assert said(await group.members()) == [("victim", "victim")]
            await victim.kill()

            async def empty() -> bool:
                return await group.members() == ()

            await until(empty)
