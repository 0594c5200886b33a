# Generated from src/fencepost/testing/contract/_async/rate.py by tools/unasync.py. Do not edit: run `make gen`.
"""Rate limits: shared by all, in the engine's time, and honest about how long to wait."""

import pytest

from fencepost._runtime import threads as runtime
from fencepost.errors import AcquireTimeout, Unsupported
from fencepost.testing.contract._sync.place import LASTING, connect_faulty, connect_to
from fencepost.testing.contract.need import needs
from fencepost.testing.contract.site import Site

now = runtime.BootClock.now


class RateChapter:
    def test_an_engine_without_a_clock_for_it_says_so_when_one_is_made(self, site: Site) -> None:
        with connect_to(site) as session:
            if site.traits.meters:
                assert session.rate_limit("r", 1, 1.0).name == "r"
            else:
                with pytest.raises(Unsupported, match="no clock for rate limits"):
                    session.rate_limit("r", 1, 1.0)

    @needs("meters")
    def test_the_limit_counts_for_all_together_in_one_call_each(self, site: Site) -> None:
        session, engine = connect_faulty(site, ttl=LASTING)
        with session, connect_to(site, label="second") as second:
            ours, theirs = session.rate_limit("r", 3, 600.0), second.rate_limit("r", 3, 600.0)
            before = len(engine.calls)
            waits = [limit.try_acquire() for limit in (ours, theirs, ours)]
            assert waits == [0.0, 0.0, 0.0]
            assert engine.calls[before:] == ["meter", "meter"]
            assert 150.0 < theirs.try_acquire() <= 200.0
            # What was refused did not count.
            assert 150.0 < theirs.try_acquire() <= 200.0
            assert second.rate_limit("other", 3, 600.0).try_acquire() == 0.0

    @needs("meters")
    def test_waiting_as_long_as_told_is_enough(self, site: Site) -> None:
        with connect_to(site) as session:
            limit = session.rate_limit("r", 2, 0.2)
            began_at = now()
            for _ in range(5):
                limit.acquire(timeout=30)
            # Two at once, and one every tenth of a second after that.
            assert now() - began_at >= 0.29

    @needs("meters")
    def test_what_can_not_be_in_time_is_refused_at_once(self, site: Site) -> None:
        with connect_to(site) as session:
            limit = session.rate_limit("r", 1, 600.0)
            limit.acquire()
            began_at = now()
            with pytest.raises(AcquireTimeout, match="the next is allowed in"):
                limit.acquire(timeout=300)
            assert now() - began_at < 60

    @needs("meters")
    def test_heavier_asks_take_more(self, site: Site) -> None:
        with connect_to(site) as session:
            limit = session.rate_limit("r", 4, 600.0)
            assert limit.try_acquire(weight=3) == 0.0
            assert 250.0 < limit.try_acquire(weight=3) <= 300.0
            assert limit.try_acquire(weight=1) == 0.0
            with pytest.raises(ValueError, match="never allowed within a limit of 4"):
                limit.try_acquire(weight=5)
