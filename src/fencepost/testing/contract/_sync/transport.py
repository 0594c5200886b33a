# Generated from src/fencepost/testing/contract/_async/transport.py by tools/unasync.py. Do not edit: run `make gen`.
"""What depends on the way to the engine: plain or encrypted, one host or several, a socket of any kind.

A variant of an engine that differs in its transport alone runs this chapter instead of the whole contract.
"""

import pytest

from fencepost._runtime import threads as runtime
from fencepost.errors import AcquireTimeout, Lost, Unavailable
from fencepost.session._sync.grant import Grant
from fencepost.testing.connection import connections, cut
from fencepost.testing.contract._sync.attempt import Attempt, until
from fencepost.testing.contract._sync.place import LASTING, connect_to, holders, until_free, until_waiting, waiters
from fencepost.testing.contract.need import needs
from fencepost.testing.contract.site import Site

MANY = 24
# More than a socket takes at once, and than a record of TLS or a frame of HTTP/2 holds.
LONG = [f"{number:03} {'é' * 1000}" for number in range(150)]


class TransportChapter:
    def test_a_lock_is_taken_looked_at_handed_over_and_evicted(self, site: Site) -> None:
        with connect_to(site) as first, connect_to(site, label="second") as second:
            grant = first.lock("a", note="nightly").acquire()
            assert second.lock("a").try_acquire() is None
            attempt = Attempt(second.lock("a").acquire)
            until_waiting(first, "a", 1)
            assert list(first.names()) == ["a"]
            assert (first.look("a")).holders[0].claim.ask.note == "nightly"
            grant.release()
            new = attempt.outcome()
            assert new.token > grant.token
            assert holders(first, "a") == ["second"]
            assert [claim.holder.label for claim in first.evict("a")] == ["second"]
            until_free(first, "a")
            with pytest.raises(Lost):
                new.release()

    @needs("shared")
    def test_readers_share_and_a_writer_waits_for_them(self, site: Site) -> None:
        with connect_to(site) as first, connect_to(site, label="second") as second:
            one, two = [session.rwlock("a").read().acquire() for session in (first, second)]
            attempt = Attempt(first.rwlock("a").write().acquire)
            until_waiting(second, "a", 1)
            one.release()
            two.release()
            assert (attempt.outcome()).token > max(one.token, two.token)

    @needs("counted")
    def test_permits_are_counted(self, site: Site) -> None:
        with connect_to(site) as first, connect_to(site, label="second") as second:
            first.semaphore("a", limit=3, weight=2).acquire()
            assert second.semaphore("a", limit=3, weight=2).try_acquire() is None
            assert second.semaphore("a", limit=3).try_acquire() is not None

    def test_several_names_are_taken_and_given_back(self, site: Site) -> None:
        with connect_to(site) as first, connect_to(site, label="second") as second:
            with first.lock_all(["a", "b", "c"]):
                assert second.lock("b").try_acquire() is None
            assert second.lock("b").try_acquire() is not None

    @needs("cells")
    def test_a_leader_is_elected_and_followed(self, site: Site) -> None:
        with connect_to(site) as first, connect_to(site, label="second") as second:
            leading = first.election("a").campaign("one")
            attempt = Attempt(lambda: second.election("a").campaign("two"))
            until_waiting(first, "a", 1)
            leading.release()
            assert (attempt.outcome()).token > leading.token

    def test_long_requests_and_answers_arrive_whole(self, site: Site) -> None:
        with connect_to(site) as session, connect_to(site, label="second") as second:
            grants = [session.lock(name).acquire() for name in LONG]
            assert list(session.names()) == sorted(LONG)
            assert (second.look(LONG[-1])).holders[0].claim.token == grants[-1].token

    def test_many_at_once_on_one_session_get_their_own_answers(self, site: Site) -> None:
        with connect_to(site) as session, connect_to(site, label="second") as second:
            attempts = [Attempt(session.lock(f"name {number}").acquire) for number in range(MANY)]
            grants = [attempt.outcome() for attempt in attempts]
            for number, grant in enumerate(grants):
                assert grant.name == f"name {number}"
                assert (second.look(grant.name)).holders[0].claim.token == grant.token

    def test_an_answer_that_nobody_waits_for_any_more_reaches_nobody_else(self, site: Site) -> None:
        with connect_to(site) as session, connect_to(site, label="second") as second:
            second.lock("taken").acquire()
            for number in range(MANY):
                name, free = "taken" if number % 2 else f"left {number}", f"free {number}"
                given_up = Attempt(session.lock(name, timeout=number / 5000).acquire)
                grant = session.lock(free).acquire()
                assert (second.look(free)).holders[0].claim.token == grant.token
                try:
                    (given_up.outcome()).release()
                except AcquireTimeout:
                    assert "first" not in holders(second, name)
                assert waiters(second, name) == []

    def test_after_its_connections_were_cut_a_session_goes_on(self, site: Site) -> None:
        with connect_to(site, label="other") as other:
            held = other.lock("a").acquire()
            # From here on it has the connections that it needs to look, and only those of the session are cut.
            assert holders(other, "a") == ["other"]
            before = connections()
            with connect_to(site) as session:
                attempt = Attempt(_persistent(lambda: session.lock("a").acquire()))
                until_waiting(other, "a", 1)
                kept = session.lock("b").acquire()
                assert cut(connections() - before) or site.traits.scope != "network"
                (_persistent(lambda: session.lock("c").acquire())()).release()

                def is_told_or_still_holds() -> bool:
                    seen = [(each.claim.holder.label, each.claim.token) for each in (other.look("b")).holders]
                    return kept.lost.is_set() or seen == [("first", kept.token)]

                until(is_told_or_still_holds)
                held.release()
                assert (attempt.outcome(LASTING * 3)).token > held.token


def _persistent(acquire: runtime.Work[Grant]) -> runtime.Work[Grant]:
    """Where a lease ends with its connection, an acquire that was under way says so, and the next one succeeds."""

    def acquired() -> Grant:
        while True:
            try:
                return acquire()
            except Unavailable:
                runtime.sleep(0.01)

    return acquired
