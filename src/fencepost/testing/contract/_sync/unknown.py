# Generated from src/fencepost/testing/contract/_async/unknown.py by tools/unasync.py. Do not edit: run `make gen`.
"""The law of the unknown: an ask whose outcome is not known is settled, and every way out leaves nothing behind."""

import re

import pytest

from fencepost._runtime import threads as runtime
from fencepost.errors import AcquireTimeout, EngineError, FencepostError, Unavailable, Uncertain
from fencepost.testing._sync.fault import FaultyEngine
from fencepost.testing.contract._sync.attempt import Attempt
from fencepost.testing.contract._sync.place import (
    LASTING,
    connect_brisk,
    connect_faulty,
    connect_to,
    holders,
    there,
    until_free,
    until_queued,
    waiters,
)
from fencepost.testing.contract.interruption import threads as interruption
from fencepost.testing.contract.site import Site

PATH = ("lease_open", "claim", "release")


class UnknownChapter:
    @pytest.mark.parametrize("call", PATH)
    @pytest.mark.parametrize("fault", ["lose_reply", "refuse"])
    def test_one_lost_message_leaves_nothing_held(self, site: Site, call: str, fault: str) -> None:
        session, engine = connect_brisk(site)
        with connect_to(site, label="second") as second:
            getattr(engine, fault)(call)
            try:
                with session.lock("a", timeout=LASTING):
                    pass
            except EngineError:
                # The lease could not be opened: said at once, so that a wrong address is not waited for.
                assert call == "lease_open"
            assert holders(second, "a") == []
            assert waiters(second, "a") == []
            with session.lock("a", timeout=LASTING):
                assert holders(second, "a") == ["faulty"]
            session.close()

    def test_a_try_whose_reply_was_lost_is_no_phantom_holder(self, site: Site) -> None:
        session, engine = connect_brisk(site)
        with session, connect_to(site, label="second") as second:
            engine.lose_reply("claim")
            with pytest.raises(Unavailable):
                session.lock("a").try_acquire()
            assert holders(second, "a") == []

    def test_what_could_not_be_given_back_is_uncertain_and_settled_later(self, site: Site) -> None:
        session, engine = connect_brisk(site)
        with session, connect_to(site, label="second") as second:
            grant = session.lock("a").acquire()
            engine.cut()
            with pytest.raises(Uncertain, match="free within"):
                grant.release()
            assert not grant.held
            engine.heal()
            # The session keeps its lease, so only the settlement can have freed the lock.
            until_free(second, "a")
            with session.lock("b"):
                pass

    def test_an_ask_that_ends_while_cut_off_is_withdrawn_later(self, site: Site) -> None:
        session, engine = connect_brisk(site)
        with session, connect_to(site, label="second") as second:
            held = second.lock("a").acquire()
            attempt = Attempt(lambda: session.lock("a").acquire(timeout=0.5))
            until_queued(second, "a", attempt)
            engine.cut()
            with pytest.raises((Uncertain, AcquireTimeout)):
                attempt.outcome()
            engine.heal()
            held.release()
            until_free(second, "a")
            assert waiters(second, "a") == []

    def test_a_timed_out_ask_holds_nothing_and_says_who_does(self, site: Site) -> None:
        with connect_to(site) as first, connect_to(site, label="second") as second:
            grant = first.lock("a").acquire()
            with pytest.raises(AcquireTimeout) as refused:
                second.lock("a").acquire(timeout=0.05)
            said = rf"lock 'a' not acquired in \d+\.\d s: held by first \(token {grant.token}\)"
            assert re.fullmatch(said, str(refused.value))
            assert waiters(first, "a") == []
            assert holders(first, "a") == ["first"]

    def test_a_try_that_is_refused_takes_no_place_in_the_queue(self, site: Site) -> None:
        with connect_to(site) as first, connect_to(site, label="second") as second, first.lock("a"):
            assert second.lock("a").try_acquire() is None
            assert waiters(first, "a") == []

    def test_an_exception_in_the_block_gives_the_lock_back(self, site: Site) -> None:
        with connect_to(site) as session:
            with pytest.raises(ZeroDivisionError):
                with session.lock("a"):
                    raise ZeroDivisionError
            assert holders(session, "a") == []

    def test_a_grant_that_comes_as_the_time_is_over_is_taken_or_given_back(self, site: Site) -> None:
        with connect_to(site) as first, connect_to(site, label="second") as second:
            for step in range(40):
                held = first.lock("a").acquire()
                attempt = Attempt(lambda: second.lock("a").acquire(timeout=0.01))
                runtime.sleep(0.0002 * step + 0.005)
                held.release()
                try:
                    (attempt.outcome()).release()
                except AcquireTimeout:
                    pass
                assert there(first, "a") == ([], [])

    def test_an_interruption_at_any_step_of_an_uncontended_block_leaves_nothing(self, site: Site) -> None:
        session, engine = connect_faulty(site, ttl=LASTING)
        engine.yielding = True
        with session, connect_to(site, label="second") as second:

            def block() -> None:
                with session.lock("a"):
                    runtime.sleep(0)

            def nothing_left(where: str) -> None:
                assert there(second, "a") == ([], []), f"held, or queued, after {where}"

            assert interruption.every_step(block, nothing_left) >= 4

    def test_an_interruption_at_any_step_of_opening_the_lease_leaves_nothing(self, site: Site) -> None:
        with connect_to(site, label="second") as second:
            opened: list[FaultyEngine] = []

            def block() -> None:
                session, engine = connect_faulty(site, ttl=LASTING)
                opened.append(engine)
                engine.yielding = True
                try:
                    with session.lock("a"):
                        pass
                finally:
                    session.close()

            def nothing_left(where: str) -> None:
                assert holders(second, "a") == [], f"held after {where}"
                # An interrupted close may leave it open.
                for engine in opened:
                    engine.close()
                opened.clear()

            assert interruption.every_step(block, nothing_left) >= 6

    def test_an_interruption_at_any_step_of_waiting_leaves_nothing(self, site: Site) -> None:
        session, engine = connect_faulty(site, ttl=LASTING)
        engine.yielding = True
        with session, connect_to(site, label="second") as second:
            second.lock("a").acquire()

            def wait() -> None:
                try:
                    session.lock("a").acquire(timeout=0.003)
                except AcquireTimeout:
                    pass

            def nothing_left(where: str) -> None:
                assert there(second, "a") == (["second"], []), f"held, or queued, after {where}"

            assert interruption.every_step(wait, nothing_left) >= 4

    def test_a_claim_with_a_dead_lease_opens_another(self, site: Site) -> None:
        session, engine = connect_brisk(site)
        with session:
            keeper = session.keeper()
            engine.lease_close(keeper.holder)
            with session.lock("a") as grant:
                assert grant.holder.id != keeper.holder.id
            assert keeper.lost.is_set()

    def test_another_lease_is_asked_for_again_while_time_lasts(self, site: Site) -> None:
        session, engine = connect_brisk(site)
        with session:
            keeper = session.keeper()
            keeper.lose("told so by the test")
            engine.refuse("lease_open", 3)
            with pytest.raises(Unavailable):
                session.lock("a").try_acquire()
            with session.lock("a", timeout=LASTING) as grant:
                assert grant.holder.id != keeper.holder.id

    def test_an_engine_that_fails_for_good_raises_what_it_raised(self, site: Site) -> None:
        session, engine = connect_brisk(site)
        engine.cut()
        with pytest.raises(FencepostError):
            session.lock("a").acquire(timeout=0.5)
        engine.heal()
        session.close()
