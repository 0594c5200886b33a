# Generated from src/fencepost/testing/contract/_async/together.py by tools/unasync.py. Do not edit: run `make gen`.
"""Several locks at once: all or none, a token for each name, and no deadlock in whatever order they are named."""

import pytest

from fencepost.errors import AcquireTimeout, Lost, Uncertain
from fencepost.primitives._sync.session import Session
from fencepost.testing.contract._sync.attempt import WITHIN, Attempt
from fencepost.testing.contract._sync.place import (
    LASTING,
    connect_brisk,
    connect_faulty,
    connect_to,
    holders,
    until_free,
    until_waiting,
)
from fencepost.testing.contract.site import Site

ROUNDS = 15


class TogetherChapter:
    def test_every_name_has_a_token_of_its_own_above_its_last_one(self, site: Site) -> None:
        with connect_to(site) as session:
            with session.lock("b") as before:
                pass
            with session.lock_all(["b", "a", "c"]) as grants:
                assert list(grants) == ["a", "b", "c"]
                assert grants.held
                assert grants["b"].token > before.token
                assert grants.tokens == {name: grants[name].token for name in "abc"}
                assert [holders(session, name) for name in "abc"] == [["first"]] * 3
                grants.require(LASTING / 4)
            assert [holders(session, name) for name in "abc"] == [[], [], []]

    def test_one_that_is_held_refuses_all_and_leaves_nothing(self, site: Site) -> None:
        with connect_to(site) as first, connect_to(site, label="second") as second, first.lock("b"):
            assert second.lock_all(["a", "b"]).try_acquire() is None
            with pytest.raises(AcquireTimeout, match="locks 'a', 'b' not acquired"):
                second.lock_all(["a", "b"]).acquire(timeout=0.1)
            assert holders(first, "a") == []
            assert (first.look("b")).waiters == ()

    def test_whoever_waits_for_several_gets_them_when_all_are_free(self, site: Site) -> None:
        with connect_to(site) as first, connect_to(site, label="second") as second:
            held = first.lock("b").acquire()
            both = Attempt(second.lock_all(["a", "b"]).acquire)
            until_waiting(first, "b", 1)
            if site.traits.together:
                assert holders(first, "a") == []
                # Its turn on 'a' is kept, too.
                assert first.lock("a").try_acquire() is None
            held.release()
            grants = both.outcome()
            assert [holders(first, name) for name in "ab"] == [["second"], ["second"]]
            grants.release()
            assert [holders(first, name) for name in "ab"] == [[], []]

    def test_one_of_them_may_be_given_back_before_the_others(self, site: Site) -> None:
        with connect_to(site) as session:
            grants = session.lock_all(["a", "b"]).acquire()
            grants["a"].release()
            assert not grants.held
            assert [holders(session, name) for name in "ab"] == [[], ["first"]]
            grants.release()
            assert holders(session, "b") == []

    def test_opposite_orders_never_deadlock(self, site: Site) -> None:
        with connect_to(site) as first, connect_to(site, label="second") as second:

            def forth() -> int:
                return _hold_often(first, ["a", "b"])

            def back() -> int:
                return _hold_often(second, ["b", "a"])

            attempts = [Attempt(forth), Attempt(back)]
            assert [attempt.outcome(60) for attempt in attempts] == [ROUNDS, ROUNDS]

    def test_losing_one_of_them_ends_them_all(self, site: Site) -> None:
        first, _ = connect_brisk(site, label="first")
        with first, connect_to(site, label="operator") as operator:
            grants = first.lock_all(["a", "b"]).acquire()
            operator.evict("b")
            assert grants["b"].lost.wait(WITHIN)
            with pytest.raises(Lost, match="evicted by operator"):
                grants.check()
            with pytest.raises(Lost):
                grants.release()
            assert holders(operator, "a") == []

    def test_a_lost_answer_leaves_nothing_half_held(self, site: Site) -> None:
        session, engine = connect_brisk(site)
        with session, connect_to(site, label="second") as second:
            engine.lose_reply("claim")
            with session.lock_all(["a", "b"], timeout=WITHIN) as grants:
                assert grants.held
                assert [holders(second, name) for name in "ab"] == [["faulty"], ["faulty"]]
            assert [holders(second, name) for name in "ab"] == [[], []]

    def test_all_are_given_back_in_one_call_to_whoever_waits_for_each(self, site: Site) -> None:
        session, engine = connect_faulty(site, ttl=LASTING)
        with session, connect_to(site, label="second") as second:
            grants = session.lock_all(["a", "b", "c"]).acquire()
            waiting = [Attempt(second.lock(name).acquire) for name in "ac"]
            for name in "ac":
                until_waiting(second, name, 1)
            before = len(engine.calls)
            grants.release()
            calls = [call for call in engine.calls[before:] if call != "lease_renew"]
            assert calls == (["release_all"] if site.traits.together else ["release"] * 3)
            assert grants.released
            for attempt in waiting:
                assert (attempt.outcome()).held
            assert holders(second, "b") == []

    def test_one_that_was_taken_away_unheard_is_lost_and_the_others_are_given_back(self, site: Site) -> None:
        with connect_to(site) as first, connect_to(site, label="operator") as operator:
            grants = first.lock_all(["a", "b", "c"]).acquire()
            operator.evict("b")
            with pytest.raises(Lost, match="'b'"):
                grants.release()
            assert [holders(operator, name) for name in "abc"] == [[], [], []]

    def test_a_release_that_is_not_answered_is_settled_for_all(self, site: Site) -> None:
        session, engine = connect_brisk(site)
        method = "release_all" if site.traits.together else "release"
        with session, connect_to(site, label="second") as second:
            for fault in (engine.lose_reply, engine.refuse):
                grants = session.lock_all(["a", "b"]).acquire()
                fault(method)
                grants.release()
                assert [holders(second, name) for name in "ab"] == [[], []]
            grants = session.lock_all(["a", "b"]).acquire()
            engine.refuse("release_all", 1)
            engine.refuse("release", 4)
            with pytest.raises(Uncertain, match="given up here"):
                grants.release()
            # What was not settled then is at the next renewal.
            until_free(second, "a")
            until_free(second, "b")
            assert session.statistics().lost == 0

    def test_no_name_or_one_twice_is_refused_at_once(self, site: Site) -> None:
        with connect_to(site) as session:
            with pytest.raises(ValueError, match="at least one"):
                session.lock_all([])
            with pytest.raises(ValueError, match="named twice"):
                session.lock_all(["a", "b", "a"])
            with pytest.raises(TypeError, match="not one text"):
                session.lock_all("ab")


def _hold_often(session: Session, names: list[str]) -> int:
    done = 0
    for _ in range(ROUNDS):
        with session.lock_all(names, timeout=30) as grants:
            assert grants.held
            done += 1
    return done
