# Generated from src/fencepost/testing/contract/_async/election.py by tools/unasync.py. Do not edit: run `make gen`.
"""Elections: one leader at a time, terms that only grow, and every change seen in order."""

import pytest

from fencepost._runtime import threads as runtime
from fencepost.core.election import Leader
from fencepost.core.lease import Terms
from fencepost.errors import AcquireTimeout, Lost, NotHeld, Unsupported
from fencepost.testing.contract._sync.attempt import WITHIN, Attempt, until
from fencepost.testing.contract._sync.place import STURDY, connect_faulty, connect_to, until_queued, until_waiting
from fencepost.testing.contract._sync.puppet import Puppet
from fencepost.testing.contract.need import needs
from fencepost.testing.contract.site import Site


class ElectionChapter:
    def test_an_engine_without_cells_says_so_when_an_election_is_made(self, site: Site) -> None:
        with connect_to(site) as session:
            if site.traits.cells:
                assert session.election("a").name == "a"
            else:
                with pytest.raises(Unsupported, match="keeps no shared values"):
                    session.election("a")

    @needs("cells")
    def test_the_elected_leads_with_its_value_until_it_resigns(self, site: Site) -> None:
        with connect_to(site) as first, connect_to(site, label="second") as second:
            ours, theirs = first.election("a"), second.election("a")
            assert theirs.leader() is None
            grant = ours.campaign("one")
            assert theirs.leader() == Leader(grant.token, "one", "first")
            ours.proclaim("uno")
            assert theirs.leader() == Leader(grant.token, "uno", "first")
            with pytest.raises(AcquireTimeout, match="held by first"):
                theirs.campaign("two", timeout=0.1)
            attempt = Attempt(lambda: theirs.campaign("two"))
            until_waiting(first, "a", 1)
            ours.resign()
            next_term = (attempt.outcome()).token
            assert next_term > grant.token
            assert ours.leader() == Leader(next_term, "two", "second")
            theirs.resign()
            assert ours.leader() is None

    @needs("cells")
    def test_whoever_did_not_campaign_has_nothing_to_say(self, site: Site) -> None:
        with connect_to(site) as session:
            with pytest.raises(NotHeld, match="campaign first"):
                session.election("a").proclaim("me")
            with pytest.raises(NotHeld, match="campaign first"):
                session.election("a").resign()

    @needs("cells")
    def test_an_observer_sees_every_change_in_order(self, site: Site) -> None:
        with connect_to(site) as first, connect_to(site, label="watcher") as watcher:
            election = first.election("a")
            election.campaign("0")
            seen: list[Leader] = []

            def observe() -> None:
                for leader in watcher.election("a").observe():
                    assert leader is not None
                    seen.append(leader)
                    if leader.value == "9":
                        return

            attempt = Attempt(observe)

            def started() -> bool:
                return bool(seen)

            until(started)
            for number in range(1, 10):
                if number % 3:
                    election.proclaim(str(number))
                else:
                    election.resign()
                    election.campaign(str(number))
            attempt.outcome()
            assert [leader.value for leader in seen] == [str(number) for number in range(10)]
            assert sum(leader.missed for leader in seen) == 0
            terms = [leader.term for leader in seen]
            assert terms == sorted(terms)
            assert len(set(terms)) == 4

    @needs("cells")
    def test_an_observer_is_told_that_nobody_leads(self, site: Site) -> None:
        with connect_to(site) as first, connect_to(site, label="watcher") as watcher:
            # It looks as often as one with a short lease would, and keeps its own.
            watcher.terms = Terms(site.ttl)
            election = first.election("a")
            one = election.campaign("one")
            seen: list[Leader | None] = []
            told = runtime.Event()

            def observe() -> None:
                for leader in watcher.election("a").observe():
                    seen.append(leader)
                    told.set()
                    if len(seen) == 3:
                        return

            attempt = Attempt(observe)
            assert told.wait(WITHIN)
            told.clear()
            election.resign()
            assert told.wait(WITHIN)
            # Nor does one that comes now take the last leader for one that leads.
            for leader in watcher.election("a").observe():
                assert leader is None
                break
            two = election.campaign("two")
            attempt.outcome()
            assert seen == [Leader(one.token, "one", "first"), None, Leader(two.token, "two", "first")]

    @needs("cells")
    def test_an_observer_goes_on_when_the_engine_did_not_answer(self, site: Site) -> None:
        session, engine = connect_faulty(site, label="watcher", ttl=STURDY)
        with session, connect_to(site) as first:
            engine.refuse("cell_watch", 2)
            seen: list[Leader | None] = []
            for leader in session.election("a").observe():
                seen.append(leader)
                if leader is not None:
                    break
                first.election("a").campaign("one")
            assert [None if leader is None else leader.value for leader in seen] == [None, "one"]

    @needs("cells")
    def test_the_next_is_elected_when_the_leader_is_cut_off_and_the_old_one_knows_first(self, site: Site) -> None:
        session, engine = connect_faulty(site)
        with session, connect_to(site, label="second") as second:
            old = session.election("a").campaign("old")
            attempt = Attempt(lambda: second.election("a").campaign("new"))
            until_queued(second, "a", attempt)
            engine.cut()
            new = attempt.outcome()
            assert not old.held
            assert new.token > old.token
            engine.heal()
            with pytest.raises(Lost):
                old.check()
            leader = second.election("a").leader()
            assert leader is not None
            assert leader.value == "new"

    @needs("cells")
    def test_a_block_leads_inside_and_resigns_at_its_end(self, site: Site) -> None:
        with connect_to(site) as session:
            with session.election("a", value="me") as grant:
                leader = session.election("a").leader()
                assert leader is not None
                assert leader.term == grant.token
            assert session.election("a").leader() is None

    @needs("cells")
    def test_a_leader_that_is_not_healthy_any_more_stops_and_then_another_leads(self, site: Site) -> None:
        well = runtime.Event()
        well.set()

        def healthy() -> bool:
            return well.is_set()

        with connect_to(site) as first, connect_to(site, label="second") as second:
            election = first.election("a", value="sick", healthy=healthy, check_every=0.02)
            grant = election.acquire()
            attempt = Attempt(lambda: second.election("a").campaign("well"))
            until_waiting(first, "a", 1)
            well.clear()
            assert grant.lost.wait(WITHIN)
            # It has not stopped yet: nobody else leads.
            assert not attempt.ended.is_set()
            with pytest.raises(Lost, match="not healthy any more"):
                grant.release()
            assert (attempt.outcome()).held
            with pytest.raises(AcquireTimeout):
                election.acquire(timeout=0.1)

    @needs("cells")
    def test_a_health_check_that_raises_ends_the_lead(self, site: Site) -> None:
        well = runtime.Event()
        well.set()

        def healthy() -> bool:
            if not well.is_set():
                raise ConnectionRefusedError("the probe can not connect")
            return True

        with connect_to(site) as session:
            grant = session.election("a", healthy=healthy, check_every=0.02).acquire()
            well.clear()
            assert grant.lost.wait(WITHIN)
            with pytest.raises(Lost, match="not healthy any more: its health check raised ConnectionRefusedError"):
                grant.release()

    @needs("cells", scope="host")
    def test_a_killed_leader_is_followed(self, site: Site) -> None:
        with Puppet(site, "victim") as victim, connect_to(site) as session:
            term = (victim.ask("campaign", name="a", value="victim"))["token"]
            leader = session.election("a").leader()
            assert leader == Leader(term, "victim", "victim")
            victim.kill()
            grant = session.election("a").campaign("next", timeout=WITHIN)
            assert grant.token > term
