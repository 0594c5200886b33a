# Generated from src/fencepost/testing/contract/_async/partition.py by tools/unasync.py. Do not edit: run `make gen`.
"""Partitions: each owned by one living worker, fenced, and handed over only when its owner has let go."""

import pytest

from fencepost.core.lease import Terms
from fencepost.errors import Conflict, NotHeld
from fencepost.primitives._sync.ownership import Ownership
from fencepost.session._sync.grant import Grant
from fencepost.testing.contract._sync.attempt import Attempt, until
from fencepost.testing.contract._sync.place import connect_faulty, connect_to
from fencepost.testing.contract.need import needs
from fencepost.testing.contract.site import Site

COUNT = 5


class PartitionChapter:
    @needs("cells")
    def test_one_worker_owns_everything_and_shares_it_with_the_next(self, site: Site) -> None:
        with (
            connect_to(site) as first,
            connect_to(site, label="second") as second,
            first.partitions("p", COUNT) as ours,
        ):
            _until_owned(ours, 5)
            before = {number: grant.token for number, grant in ours.grants().items()}
            with second.partitions("p", COUNT) as theirs:
                _until_owned(theirs, 2)
                _until_owned(ours, 3)
                moved = theirs.grants()
                assert moved.keys().isdisjoint(ours.grants())
                # A partition that moved has a higher token, one that stayed the same.
                assert all(grant.token > before[number] for number, grant in moved.items())
                assert all(grant.token == before[number] for number, grant in ours.grants().items())
            _until_owned(ours, 5)

    @needs("cells")
    def test_leaving_does_not_wait_for_news_of_the_others(self, site: Site) -> None:
        with connect_to(site) as session, session.partitions("p", 1) as owned:
            _until_owned(owned, 1)
            # A member looks up by itself after a third of its lease, which is later.
            Attempt(owned.release).outcome()

    @needs("cells")
    def test_what_is_not_ours_can_not_be_worked_on(self, site: Site) -> None:
        with connect_to(site) as session:
            with session.partitions("p", 1) as owned:
                _until_owned(owned, 1)
                with owned.using(0) as grant:
                    assert grant.held
                with pytest.raises(NotHeld, match="partition 1 of 'p' is not ours"):
                    with owned.using(1):
                        pass
            with pytest.raises(NotHeld, match="partition 0 of 'p' is not ours"):
                with owned.using(0):
                    pass

    @needs("cells")
    def test_what_is_being_worked_on_waits_for_the_end_of_the_work(self, site: Site) -> None:
        with (
            connect_to(site) as first,
            connect_to(site, label="second") as second,
            first.partitions("p", 2) as ours,
        ):
            _until_owned(ours, 2)
            with ours.using(0), ours.using(1):
                theirs = second.partitions("p", 2).acquire()

                def told() -> bool:
                    return len(ours.assigned()) == 1

                until(told)
                assert theirs.grants() == {}
                assert len(ours.grants()) == 2
            _until_owned(theirs, 1)
            _until_owned(ours, 1)
            theirs.release()

    @needs("cells")
    def test_the_partitions_of_one_that_is_cut_off_go_to_those_who_remain(self, site: Site) -> None:
        session, engine = connect_faulty(site)
        with session, connect_to(site, label="second") as second:
            # It looks after its neighbour as often as one with a short lease would, and keeps its own.
            second.terms = Terms(site.ttl)
            tokens: dict[int, int] = {}
            while not tokens:
                # Again if a busy machine loses the short lease meanwhile.
                lost = session.partitions("p", 2).acquire()
                tokens = _until_owned(lost, 2)
            with second.partitions("p", 2) as stays:
                _until_owned(stays, 1, 2)
                engine.cut()
                _until_owned(stays, 2)
                assert lost.grants() == {}
                assert all(stays.grants()[number].token > token for number, token in tokens.items())
                engine.heal()

    @needs("cells")
    def test_another_number_of_partitions_is_a_conflict_while_anybody_works(self, site: Site) -> None:
        with connect_to(site) as session:
            with session.partitions("p", 2):
                with pytest.raises(Conflict, match="has 2 partitions, not 3"):
                    session.partitions("p", 3).acquire()
            with session.partitions("p", 3) as owned:
                _until_owned(owned, 3)

    @needs("cells")
    def test_changes_of_what_is_ours_are_told(self, site: Site) -> None:
        with connect_to(site) as session, session.partitions("p", 2) as owned:
            for grants in owned.watch():
                if len(grants) == 2:
                    break
            assert sorted(owned.grants()) == [0, 1]


def _until_owned(ownership: Ownership, *counts: int) -> dict[int, int]:
    """The tokens of what it owns, once that is so much; none if its lease was lost meanwhile."""
    grants: dict[int, Grant] = {}

    def owned() -> bool:
        nonlocal grants
        grants = ownership.grants()
        return len(grants) in counts or ownership.lost.is_set()

    until(owned)
    return {number: grant.token for number, grant in grants.items() if len(grants) in counts}
