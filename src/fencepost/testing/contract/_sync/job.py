# Generated from src/fencepost/testing/contract/_async/job.py by tools/unasync.py. Do not edit: run `make gen`.
"""Jobs: each tick run by one node, fast or slow, and the outcome kept."""

import time

import pytest

from fencepost.core.job import Outcome, Tick
from fencepost.errors import Lost, Unavailable, Uncertain
from fencepost.primitives._sync.job import Run
from fencepost.testing.contract._sync.attempt import WITHIN, Attempt
from fencepost.testing.contract._sync.place import (
    connect_faulty,
    connect_to,
    holders,
    until_queued,
    until_waiting,
)
from fencepost.testing.contract.need import needs
from fencepost.testing.contract.site import Site


class JobChapter:
    @needs("cells")
    def test_a_tick_is_run_once_however_fast_it_is_over(self, site: Site) -> None:
        with connect_to(site) as first, connect_to(site, label="second") as second:
            run = first.job("j").begin(60)
            assert run is not None
            with run:
                assert second.job("j").begin(60) is None
                assert (second.job("j").last()) == Outcome(60, run.grant.token, "first", "running")
            # Over before the other's clock has come to it: still the same tick.
            assert second.job("j").begin(60) is None
            assert second.job("j").begin(0) is None
            outcome = second.job("j").last()
            assert outcome is not None
            assert (outcome.tick, outcome.holder, outcome.state) == (60, "first", "done")
            following = second.job("j").begin(120)
            assert following is not None
            with following:
                assert following.grant.token > run.grant.token

    @needs("cells")
    def test_a_clock_that_was_ahead_once_does_not_stop_the_job(self, site: Site) -> None:
        with connect_to(site) as first, connect_to(site, label="second") as second:
            soon = int(time.time()) - 1000
            ahead = first.job("j").begin(soon + 10_000_000)
            assert ahead is not None
            with ahead:
                pass
            for tick in (soon, soon + 1):
                run = second.job("j").begin(tick)
                assert run is not None
                with run:
                    pass
                assert first.job("j").begin(tick) is None
            assert second.job("j").begin(soon) is None
            assert second.job("j").begin(soon + 10_000_000) is None

    @needs("cells")
    def test_a_tick_that_the_engine_does_not_answer_is_left_out_and_the_next_one_comes(self, site: Site) -> None:
        with connect_to(site) as session:
            failures = iter([Unavailable("no answer"), Uncertain("no answer")])
            job = session.job("j", every=1)
            begin = job.begin

            def fails_at_first(tick: Tick) -> Run | None:
                for failure in failures:
                    raise failure
                return begin(tick)

            job.begin = fails_at_first  # type: ignore[method-assign, assignment]
            for run in job:
                with run:
                    break
            assert next(failures, None) is None

    @needs("cells")
    def test_a_run_that_is_no_block_is_told_and_given_back_as_failed(self, site: Site) -> None:
        with connect_to(site) as session:
            job = session.job("j", every=1)
            ticks: set[Tick] = set()
            with pytest.raises(RuntimeError, match=r"is a block, and was not left: .*for run in job: .*with run"):
                for run in job:
                    ticks.add(run.tick)
            assert holders(session, "j") == []
            outcome = job.last()
            assert outcome is not None
            assert ({outcome.tick}, outcome.state) == (ticks, "failed")

    @needs("cells")
    def test_a_run_whose_block_goes_on_elsewhere_is_told_and_not_given_back(self, site: Site) -> None:
        with connect_to(site) as session:
            with pytest.raises(RuntimeError, match="was not left"):
                for run in session.job("j", every=1):
                    run.__enter__()
            assert run.grant.held
            run.__exit__(None, None, None)
            outcome = session.job("j").last()
            assert outcome is not None
            assert (outcome.tick, outcome.state) == (run.tick, "done")

    @needs("cells")
    def test_what_failed_is_kept_and_begun_again_only_on_request(self, site: Site) -> None:
        with connect_to(site) as session:
            job = session.job("j")
            run = job.begin("v2")
            assert run is not None
            with pytest.raises(RuntimeError, match="no such table"):
                with run:
                    raise RuntimeError("no such table")
            outcome = job.last()
            assert outcome is not None
            assert (outcome.state, outcome.error) == ("failed", "RuntimeError: no such table")
            assert job.begin("v2") is None
            retried = job.begin("v2", again=True)
            assert retried is not None
            with retried:
                pass
            assert job.begin("v2", again=True) is None

    @needs("cells")
    def test_whoever_waits_for_a_migration_finds_it_done(self, site: Site) -> None:
        with connect_to(site) as first, connect_to(site, label="second") as second:
            run = first.job("j").begin("v2", timeout=None, again=True)
            assert run is not None
            with run:
                waiting = Attempt(lambda: second.job("j").begin("v2", timeout=None, again=True))
                until_waiting(first, "j", 1)
                assert not waiting.ended.is_set()
            assert waiting.outcome() is None
            assert holders(first, "j") == []

    @needs("cells")
    def test_a_run_that_takes_too_long_is_lost(self, site: Site) -> None:
        with connect_to(site) as session:
            run = session.job("j", at_most=0.05).begin(60)
            assert run is not None
            with pytest.raises(Lost, match=r"took longer than 0\.05 s"):
                with run:
                    assert run.grant.lost.wait(WITHIN)
            assert holders(session, "j") == []

    @needs("cells")
    def test_a_short_run_keeps_the_name_for_at_least_so_long(self, site: Site) -> None:
        with connect_to(site) as session:
            run = session.job("j", at_least=0.2).begin(60)
            assert run is not None
            began_at = run.grant.granted_at
            with run:
                pass
            assert session.clock.now() - began_at >= 0.2

    @needs("cells")
    def test_a_runner_that_was_cut_off_can_not_say_how_it_ended(self, site: Site) -> None:
        session, engine = connect_faulty(site)
        with session, connect_to(site, label="second") as second:
            run = session.job("j").begin(60)
            assert run is not None
            waiting = Attempt(lambda: second.job("j").begin(120, timeout=None))
            until_queued(second, "j", waiting)
            engine.cut()
            following = waiting.outcome()
            assert following is not None
            engine.heal()
            with pytest.raises(Lost, match="somebody else has begun it"):
                run.end()
            with following:
                outcome = second.job("j").last()
                assert outcome is not None
                assert (outcome.tick, outcome.state) == (120, "running")

    @needs("cells")
    def test_ticks_come_when_they_are_due(self, site: Site) -> None:
        with connect_to(site) as session:
            ticks: list[object] = []
            for run in session.job("j", every=1):
                with run:
                    ticks.append(run.tick)
                if len(ticks) == 2:
                    break
            assert len(set(ticks)) == 2
