# Generated from src/fencepost/testing/contract/_async/neighbour.py by tools/unasync.py. Do not edit: run `make gen`.
"""The law of neighbours: fencepost and its engine's other clients exclude each other on the same key."""

from fencepost.testing.contract._sync.attempt import WITHIN
from fencepost.testing.contract._sync.place import connect_to
from fencepost.testing.contract.need import needs
from fencepost.testing.contract.site import Site


class NeighbourChapter:
    def test_every_declared_neighbour_can_be_met_at_the_site(self, site: Site) -> None:
        assert sorted(site.neighbours) == sorted(site.traits.neighbours)

    @needs("neighbours")
    def test_a_neighbour_excludes_us_and_we_it(self, site: Site) -> None:
        for make in site.neighbours.values():
            with connect_to(site) as session:
                neighbour = make(site, "a")
                with session.lock("a"):
                    assert not neighbour.try_acquire()
                assert neighbour.try_acquire()
                assert session.lock("a").try_acquire() is None
                neighbour.release()
                with session.lock("a", timeout=WITHIN):
                    pass

    @needs("neighbours", "shared", "downgrade")
    def test_a_writer_that_goes_on_as_a_reader_keeps_a_neighbour_out_and_so_does_whoever_joins_it(
        self, site: Site
    ) -> None:
        for make in site.neighbours.values():
            with connect_to(site) as first, connect_to(site, label="second") as second:
                neighbour = make(site, "a")
                written = first.rwlock("a").write().acquire(timeout=WITHIN)
                first.rwlock("a").downgrade(written)
                assert not neighbour.try_acquire()
                read = second.rwlock("a").read().acquire(timeout=WITHIN)
                written.release()
                assert not neighbour.try_acquire()
                read.release()
                assert neighbour.try_acquire()
                neighbour.release()
