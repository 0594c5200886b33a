# Generated from src/fencepost/testing/contract/_async/liveness.py by tools/unasync.py. Do not edit: run `make gen`.
"""The law of liveness: what is dead is free in time, what is alive is kept, and failing is loud."""

import logging
import math

import pytest

from fencepost.core.claim import Ask
from fencepost.core.event import Evicted, LeaseLost, Lost
from fencepost.errors import Lost as LostError
from fencepost.errors import SessionClosed, Unavailable
from fencepost.testing.contract._sync.attempt import WITHIN, Attempt, until
from fencepost.testing.contract._sync.place import (
    LASTING,
    STURDY,
    BriskClock,
    connect_brisk,
    connect_faulty,
    connect_to,
    holders,
    stand_in_line,
    there,
    until_free,
    until_queued,
    until_waiting,
)
from fencepost.testing.contract._sync.puppet import Puppet
from fencepost.testing.contract.need import lacks, needs
from fencepost.testing.contract.site import Site


class LivenessChapter:
    def test_a_lock_is_shared_as_far_as_the_scope_says_and_no_further(self, site: Site) -> None:
        with Puppet(site, "other process", ttl=LASTING) as other, connect_to(site) as session:
            other.ask("acquire", name="a", timeout=0)
            ours = session.lock("a").try_acquire()
            assert (ours is not None) is (site.traits.scope == "process")

    @needs(scope="host")
    def test_a_killed_holder_is_noticed_by_whoever_waits(self, site: Site) -> None:
        with Puppet(site, "victim", ttl=_deadly(site)) as victim, connect_to(site) as session:
            victim.ask("acquire", name="a", timeout=0)
            attempt = Attempt(session.lock("a").acquire)
            until_queued(session, "a", attempt)
            victim.kill_at_once()
            (attempt.outcome()).release()

    @needs(scope="host")
    def test_a_killed_holder_is_noticed_by_whoever_comes_later(self, site: Site) -> None:
        with Puppet(site, "victim", ttl=_deadly(site)) as victim, connect_to(site) as session:
            victim.ask("acquire", name="a", timeout=0)
            victim.kill_at_once()
            (session.lock("a").acquire(timeout=WITHIN)).release()

    @lacks(death="at once")
    def test_a_release_passes_over_a_waiter_whose_lease_has_ended(self, site: Site) -> None:
        dying, engine = connect_faulty(site, label="dying")
        with dying, connect_to(site) as first, connect_to(site, label="second") as second:
            held = first.lock("a").acquire()
            stand_in_line(dying, Ask("a"))
            # It has a place, and does not look itself who stands before it.
            stand_in_line(second, Ask("a"))
            engine.cut()
            until_waiting(first, "a", 1)
            held.release()
            assert holders(first, "a") == ["second"]
            engine.heal()

    @needs(scope="host")
    def test_a_stopped_holder_loses_the_lock_after_its_ttl_and_not_before(self, site: Site) -> None:
        with Puppet(site, "stopped") as stopped, connect_to(site) as session:
            stopped.ask("acquire", name="a", timeout=0)
            attempt = Attempt(session.lock("a").acquire)
            until_queued(session, "a", attempt)
            ends_at = (stopped.ask("ends_at", name="a"))["ends_at"]
            stopped.stop()
            # Its last renewal was then, or later.
            assert (attempt.outcome()).granted_at >= ends_at
            stopped.resume()

    def test_a_session_that_could_not_be_entered_is_closed(self, site: Site) -> None:
        session, engine = connect_faulty(site)
        engine.lose_reply("lease_open")
        with pytest.raises(Unavailable):
            with session:
                raise AssertionError("it was entered")
        with pytest.raises(SessionClosed):
            session.lock("a").acquire()

    def test_closing_a_session_frees_what_it_holds_at_once(self, site: Site) -> None:
        with connect_to(site) as second:
            first = connect_to(site, label="first")
            held = [first.lock(name).acquire() for name in "abc"]
            waiting = Attempt(second.lock("b").acquire)
            until_waiting(second, "b", 1)
            first.close()
            (waiting.outcome()).release()
            assert [holders(second, name) for name in "abc"] == [[], [], []]
            assert not any(grant.held for grant in held)

    def test_a_living_holder_keeps_the_lock_for_longer_than_its_lease(self, site: Site) -> None:
        first, _ = connect_faulty(site, label="first", ttl=STURDY)
        second, _ = connect_faulty(site, label="second", ttl=STURDY)
        with first, second:
            with first.lock("a") as grant:
                attempt = Attempt(second.lock("a").acquire)
                # Twice as long where the engine lets a lease outlive its holder for so long.
                assert not attempt.ended.wait(STURDY * site.traits.overrun + 0.5)
                assert grant.held
            (attempt.outcome()).release()

    def test_one_call_renews_everything_a_session_holds(self, site: Site) -> None:
        session, engine = connect_brisk(site)
        with session:
            grants = [session.lock(f"name {number}").acquire() for number in range(100)]
            engine.calls.clear()
            engine.called("lease_renew", times=2)
            assert [call for call in engine.calls if call != "lease_renew"] == []
            assert all(grant.held for grant in grants)

    def test_a_lost_lease_is_loud_and_tells_every_grant(
        self, site: Site, caplog: pytest.LogCaptureFixture
    ) -> None:
        happened: list[object] = []
        with connect_to(site, clock=BriskClock()) as session:
            session.subscribe(happened.append, Lost, LeaseLost)
            grants = [session.lock(name).acquire() for name in "ab"]
            keeper = session.keeper()
            with caplog.at_level(logging.ERROR, logger="fencepost"):
                session.engine.lease_close(keeper.holder)
                assert keeper.lost.wait(WITHIN)

                def announced() -> bool:
                    return len(happened) == 3 and "lease lost" in caplog.text

                until(announced)
            assert [type(event) for event in happened] == [Lost, Lost, LeaseLost]
            assert all(grant.lost.is_set() for grant in grants)
            assert session.statistics().lost == 2
            assert "lost 'a'" in caplog.text

    def test_after_a_loss_the_session_opens_another_lease(self, site: Site) -> None:
        session, engine = connect_faulty(site)
        with session:
            old = session.lock("a").acquire()
            engine.cut()
            assert old.lost.wait(WITHIN)
            engine.heal()
            with session.lock("a", timeout=WITHIN) as new:
                assert new.token > old.token
                assert new.holder.id != old.holder.id
                assert not old.held

    def test_what_a_session_lost_is_free_in_time_though_it_looks_all_the_while(self, site: Site) -> None:
        """Renewals keep a lease, and nothing else that is asked."""
        session, engine = connect_faulty(site)
        with session:
            old = session.lock("a").acquire()
            engine.refuse("lease_renew", math.inf)
            assert old.lost.wait(WITHIN)

            def free() -> bool:
                return there(session, "a") == ([], [])

            until(free)

    def test_an_evicted_holder_is_told_at_its_next_renewal_by_whom(self, site: Site) -> None:
        happened: list[object] = []
        first, _ = connect_brisk(site, label="first")
        with first, connect_to(site, label="operator") as second:
            grant = first.lock("a").acquire()
            other = first.lock("b").acquire()
            second.subscribe(happened.append, Evicted)
            taken = second.evict("a")
            assert [(claim.holder.label, claim.token) for claim in taken] == [("first", grant.token)]
            assert grant.lost.wait(WITHIN)
            with pytest.raises(LostError, match="evicted by operator"):
                grant.check()
            assert other.held
            snapshot = second.look("a")
            assert [(each.token, each.evicted, each.by) for each in snapshot.evictions] == [
                (grant.token, "first", "operator")
            ]
            assert [type(event) for event in happened] == [Evicted]
            assert second.evict("a") == ()

    def test_an_eviction_hands_the_name_to_the_next_waiter(self, site: Site) -> None:
        with connect_to(site) as first, connect_to(site, label="second") as second:
            first.lock("a").acquire()
            attempt = Attempt(second.lock("a").acquire)
            until_waiting(first, "a", 1)
            first.evict("a")
            (attempt.outcome()).release()

    def test_names_lists_what_is_held_or_waited_for(self, site: Site) -> None:
        with connect_to(site) as session:
            for name in ("b/2", "a/1", "b/1", "b%"):
                session.lock(name).acquire()
            assert list(session.names()) == ["a/1", "b%", "b/1", "b/2"]
            assert list(session.names("b/")) == ["b/1", "b/2"]
            assert list(session.names("b%")) == ["b%"]

    def test_names_may_be_any_text(self, site: Site) -> None:
        names = ["ключ", "with space", "a/../b", "'; DROP TABLE claim; --", "x" * 1024, "🔒" * 1024, "{a}:b*?[c]\n"]
        with connect_to(site) as session:
            for name in names:
                with session.lock(name) as grant:
                    assert grant.name == name
                    assert name in session.names()
                    assert (session.look(name)).holders[0].claim.token == grant.token
            for name in names:
                until_free(session, name)

    def test_look_shows_who_holds_who_waits_and_for_how_long(self, site: Site) -> None:
        with connect_to(site) as first, connect_to(site, label="second") as second:
            with first.lock("a", note="nightly") as grant:
                attempt = Attempt(second.lock("a").acquire)
                until_waiting(first, "a", 1)
                snapshot = first.look("a")
                (holder,), (waiter,) = snapshot.holders, snapshot.waiters
                assert (holder.claim.holder.label, holder.claim.token) == ("first", grant.token)
                assert holder.claim.ask.note == "nightly"
                assert waiter.claim.holder.label == "second"
                assert 0 <= holder.since < WITHIN
                assert 0 < holder.remaining <= LASTING * 2

                def has_stood_longer() -> bool:
                    return (first.look("a")).holders[0].since > holder.since

                until(has_stood_longer)
            (attempt.outcome()).release()


def _deadly(site: Site) -> float:
    """The lease of one that is killed: where a death is noticed at once, it is not the end of the lease that tells."""
    return LASTING if site.traits.death == "at once" else site.ttl
