# Generated from src/fencepost/testing/contract/_async/block.py by tools/unasync.py. Do not edit: run `make gen`.
"""What a block of code under a lock can rely on: losing the lock ends it, and one flow may enter again."""

import pytest

from fencepost._runtime import threads as runtime
from fencepost.errors import Conflict, Lost, NotHeld, SessionClosed
from fencepost.testing.contract._sync.attempt import WITHIN, Attempt, until
from fencepost.testing.contract._sync.place import connect_brisk, connect_faulty, connect_to, holders, until_waiting
from fencepost.testing.contract.need import needs
from fencepost.testing.contract.site import Site

FLAVOUR = "sync"


class BlockChapter:
    def test_losing_the_lock_ends_the_block_with_lost(self, site: Site) -> None:
        session, engine = connect_faulty(site)
        went_on = False
        with session:
            with pytest.raises(Lost, match="was not renewed in time"):
                with session.lock("a") as grant:
                    engine.cut()
                    grant.lost.wait(WITHIN)
                    # A thread has to look; a task was cancelled in the line above.
                    with pytest.raises(Lost):
                        grant.check()
                    runtime.sleep(0)
                    went_on = True
            assert went_on is (FLAVOUR == "sync")
            engine.heal()
            with session.lock("b"):
                pass

    def test_what_the_body_raised_is_not_hidden_by_the_loss(self, site: Site) -> None:
        session, engine = connect_brisk(site)
        with session:
            with pytest.raises(ZeroDivisionError):
                with session.lock("a"):
                    engine.cut()
                    raise ZeroDivisionError
            engine.heal()

    def test_a_block_that_ends_after_the_loss_raises_lost(self, site: Site) -> None:
        with connect_to(site) as session:
            keeper = session.keeper()
            with pytest.raises(Lost):
                with session.lock("a"):
                    keeper.lose("told so by the test")

    def test_a_block_whose_lock_was_evicted_unnoticed_raises_lost_at_its_end(self, site: Site) -> None:
        with connect_to(site) as first, connect_to(site, label="second") as second:
            with pytest.raises(Lost, match="no longer had it"):
                with first.lock("a"):
                    second.evict("a")

    def test_a_grant_released_inside_its_block_is_not_released_twice(self, site: Site) -> None:
        with connect_to(site) as session:
            with session.lock("a") as grant:
                grant.release()
                assert holders(session, "a") == []
            with pytest.raises(NotHeld, match="released before"):
                grant.release()
            with pytest.raises(NotHeld, match="released before"):
                grant.check()
            assert not grant.lost.is_set()

    def test_a_grant_may_be_released_by_another_flow(self, site: Site) -> None:
        with connect_to(site) as session:
            grant = session.lock("a").acquire()
            Attempt(grant.release).outcome()
            assert holders(session, "a") == []

    def test_flows_that_share_a_lock_object_exclude_each_other(self, site: Site) -> None:
        with connect_to(site) as session:
            lock = session.lock("a")
            inside = 0
            most = 0

            def enter() -> None:
                nonlocal inside, most
                with lock:
                    inside += 1
                    most = max(most, inside)
                    runtime.sleep(0.001)
                    inside -= 1

            attempts = [Attempt(enter) for _ in range(10)]
            for attempt in attempts:
                attempt.outcome()
            assert most == 1

    def test_another_flow_does_not_re_enter(self, site: Site) -> None:
        with connect_to(site) as session:
            with session.lock("a", reentrant=True) as grant:
                other = Attempt(session.lock("a", reentrant=True).acquire)
                until_waiting(session, "a", 1)
            taken = other.outcome()
            assert taken.token > grant.token
            taken.release()

    def test_a_lock_is_not_reentrant_unless_asked(self, site: Site) -> None:
        with connect_to(site) as session, session.lock("a"):
            assert session.lock("a").try_acquire() is None

    def test_a_re_entry_after_the_loss_raises_lost(self, site: Site) -> None:
        with connect_to(site) as session:
            keeper = session.keeper()
            grant = session.lock("a", reentrant=True).acquire()
            keeper.lose("told so by the test")
            with pytest.raises(Lost):
                session.lock("a", reentrant=True).acquire()
            assert not grant.held

    def test_a_closed_session_says_so(self, site: Site) -> None:
        session = connect_to(site)
        lock = session.lock("a")
        session.close()
        session.close()
        with pytest.raises(SessionClosed, match="connect again"):
            lock.acquire()
        with pytest.raises(SessionClosed):
            session.look("a")

    def test_a_block_that_would_wait_for_itself_is_a_conflict_and_leaves_nobody_queued(self, site: Site) -> None:
        with connect_to(site) as session:
            with session.lock("a") as grant:
                with pytest.raises(Conflict, match="would wait for itself"):
                    session.lock("a").acquire()
                assert (session.look("a")).waiters == ()
                assert session.lock("a").try_acquire() is None
                assert grant.held
            # Not in a block, somebody else may let go of it.
            held = session.lock("a").acquire()
            attempt = Attempt(session.lock("a").acquire)
            until_waiting(session, "a", 1)
            held.release()
            (attempt.outcome()).release()

    @needs("counted")
    def test_a_semaphore_whose_block_wants_more_than_there_is_would_wait_for_itself(self, site: Site) -> None:
        with (
            connect_to(site) as session,
            connect_to(site, label="second") as second,
            session.semaphore("s", limit=3, weight=2) as grant,
        ):
            with pytest.raises(Conflict, match="would wait for itself"):
                session.semaphore("s", limit=3, weight=2).acquire()
            assert (session.look("s")).waiters == ()
            assert session.semaphore("s", limit=3, weight=2).try_acquire() is None
            # With what others hold it is too much; but they may let go of it.
            held = second.semaphore("s", limit=3).acquire()
            attempt = Attempt(session.semaphore("s", limit=3).acquire)
            until_waiting(session, "s", 1)
            held.release()
            (attempt.outcome()).release()
            with session.semaphore("s", limit=3):
                with pytest.raises(Conflict, match="would wait for itself"):
                    session.semaphore("s", limit=3).acquire()
            assert grant.held

    def test_closing_the_session_ends_the_waits_of_others_in_it(self, site: Site) -> None:
        with connect_to(site) as first:
            first.lock("a").acquire()
            second = connect_to(site, label="second")
            attempt = Attempt(second.lock("a").acquire)
            until_waiting(first, "a", 1)
            second.close()
            with pytest.raises(SessionClosed):
                attempt.outcome()

    def test_statistics_count_what_happened(self, site: Site) -> None:
        with connect_to(site) as first, connect_to(site, label="second") as second:
            held = first.lock("a").acquire()
            attempt = Attempt(second.lock("a").acquire)

            def counted() -> bool:
                return second.statistics().waiting == 1

            until(counted)
            assert first.statistics().held == 1
            held.release()
            grant = attempt.outcome()
            numbers = second.statistics()
            assert (numbers.held, numbers.waiting, numbers.granted, numbers.contended) == (1, 0, 1, 1)
            assert numbers.waited > 0
            assert numbers.contention == 1.0
            grant.release()
            assert second.statistics().held == 0
