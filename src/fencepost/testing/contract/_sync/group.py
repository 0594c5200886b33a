# Generated from src/fencepost/testing/contract/_async/group.py by tools/unasync.py. Do not edit: run `make gen`.
"""Groups: who is there, for as long as they live, and every change is told."""

from typing import cast

from fencepost._runtime import threads as runtime
from fencepost.contract._sync.cell import CellEngine
from fencepost.core.lease import Terms
from fencepost.core.roster import Member
from fencepost.testing.contract._sync.attempt import WITHIN, Attempt, until
from fencepost.testing.contract._sync.place import STURDY, connect_faulty, connect_to
from fencepost.testing.contract._sync.puppet import Puppet
from fencepost.testing.contract.need import needs
from fencepost.testing.contract.site import Site


def said(members: tuple[Member, ...]) -> list[tuple[str, str]]:
    return [(member.holder, member.data) for member in members]


class GroupChapter:
    @needs("cells")
    def test_members_are_seen_in_order_of_arrival_until_they_leave(self, site: Site) -> None:
        with connect_to(site) as first, connect_to(site, label="second") as second:
            group = second.group("g")
            assert group.members() == ()
            one = first.group("g").join("one")
            two = group.join("two")
            assert said(group.members()) == [("first", "one"), ("second", "two")]
            one.update("uno")
            assert said(group.members()) == [("first", "uno"), ("second", "two")]
            one.leave()
            assert said(group.members()) == [("second", "two")]
            assert two.held
            assert not one.held
            two.leave()

    @needs("cells")
    def test_a_block_is_a_member_inside(self, site: Site) -> None:
        with connect_to(site) as session:
            with session.group("g", data="here") as membership:
                (member,) = session.group("g").members()
                assert member == Member(membership.id, "first", "here")
            assert session.group("g").members() == ()

    @needs("cells")
    def test_nothing_is_left_of_a_group_or_of_partitions_when_the_last_has_gone(self, site: Site) -> None:
        with connect_to(site) as first, connect_to(site, label="second") as second:
            cells = cast(CellEngine, first.engine).cells
            one, two = first.group("g").join("1"), second.group("g").join("2")
            one.leave()
            assert said(first.group("g").members()) == [("second", "2")]
            two.leave()
            assert tuple(cells.read("group/g")) == (None, 0)
            with first.partitions("g", 2):
                assert (cells.read("partitions/g")).value is not None
            assert tuple(cells.read("partitions/g")) == (None, 0)
            again = first.group("g").join("3")
            assert said(second.group("g").members()) == [("first", "3")]
            again.leave()

    @needs("cells")
    def test_a_watcher_is_told_who_comes_and_goes(self, site: Site) -> None:
        with connect_to(site) as first, connect_to(site, label="watcher") as watcher:
            seen: list[list[str]] = []

            def watch() -> None:
                for members in watcher.group("g").watch():
                    seen.append([member.data for member in members])
                    if seen[-1] == ["end"]:
                        return

            attempt = Attempt(watch)

            def started() -> bool:
                return bool(seen)

            until(started)
            one = first.group("g").join("one")

            def told() -> bool:
                return seen[-1] == ["one"]

            until(told)
            one.leave()
            first.group("g").join("end")
            attempt.outcome()
            assert seen[0] == []

    @needs("cells")
    def test_a_watcher_goes_on_when_the_engine_did_not_answer(self, site: Site) -> None:
        session, engine = connect_faulty(site, label="watcher", ttl=STURDY)
        with session, connect_to(site) as first:
            engine.refuse("cell_watch", 2)
            seen: list[list[tuple[str, str]]] = []
            for members in session.group("g").watch():
                seen.append(said(members))
                if members:
                    break
                first.group("g").join("one")
            assert seen == [[], [("first", "one")]]

    @needs("cells")
    def test_one_that_is_cut_off_is_struck_off_by_those_who_remain(self, site: Site) -> None:
        session, engine = connect_faulty(site)
        with session, connect_to(site, label="second") as second, connect_to(site, label="watcher") as watcher:
            # It looks after its neighbour as often as one with a short lease would, and keeps its own.
            second.terms = Terms(site.ttl)
            lost = session.group("g").join("lost")
            second.group("g").join("stays")
            engine.cut()

            def watch() -> None:
                for members in watcher.group("g").watch():
                    if [member.data for member in members] == ["stays"]:
                        return

            Attempt(watch).outcome()
            assert not lost.held
            engine.heal()

    @needs("cells", scope="host")
    def test_a_watcher_is_told_that_the_last_member_has_died(self, site: Site) -> None:
        with Puppet(site, "victim") as victim, connect_to(site, label="watcher") as watcher:
            victim.ask("join", name="g", data="victim")
            # It looks as often as one with a short lease would, and keeps its own.
            watcher.terms = Terms(site.ttl)
            there = runtime.Event()

            def watch() -> None:
                for members in watcher.group("g").watch():
                    if not members:
                        return
                    there.set()

            attempt = Attempt(watch)
            assert there.wait(WITHIN)
            victim.kill()
            attempt.outcome()

    @needs("cells", scope="host")
    def test_whoever_asks_sees_no_member_of_a_killed_process(self, site: Site) -> None:
        with Puppet(site, "victim") as victim, connect_to(site) as session:
            victim.ask("join", name="g", data="victim")
            group = session.group("g")
            assert said(group.members()) == [("victim", "victim")]
            victim.kill()

            def empty() -> bool:
                return group.members() == ()

            until(empty)
