# Generated from src/fencepost/testing/contract/_async/late.py by tools/unasync.py. Do not edit: run `make gen`.
"""The law of late arrivals: what was held up on the way, and comes after what followed it, has no effect.

In every test a message of one session is held up. The connection ends, the session goes on over another, and asks
again, gives up, or does something else with the same name. Then the server gets what was held up.

Where a lease ends with its connection, whatever was sent over it ends as well: such an engine is not tested here.
"""

from collections.abc import Iterator, Callable
from contextlib import contextmanager
from typing import Any

import pytest

from fencepost.core.claim import Ask
from fencepost.errors import EngineError, Uncertain
from fencepost.primitives._sync.acquirable import Acquirable
from fencepost.primitives._sync.session import Session
from fencepost.session._sync.grant import Grant
from fencepost.testing.contract._sync.attempt import Attempt, until
from fencepost.testing.contract._sync.place import (
    LASTING,
    connect_to,
    stand_in_line,
    there,
    until_free,
    until_waiting,
    waiters,
)
from fencepost.testing.contract.detour import Detour, detour
from fencepost.testing.contract.need import lacks, needs
from fencepost.testing.contract.site import Site

Wish = Callable[[Session], Acquirable[Grant]]


class LateChapter:
    @needs(scope="network")
    @lacks(death="at once")
    def test_a_claim_that_comes_after_it_was_given_up_takes_nothing(self, site: Site) -> None:
        _given_up(site, _exclusive)

    @needs("shared", scope="network")
    @lacks(death="at once")
    def test_a_readers_claim_that_comes_after_it_was_given_up_takes_nothing(self, site: Site) -> None:
        _given_up(site, _shared)

    @needs("counted", scope="network")
    @lacks(death="at once")
    def test_a_counted_claim_that_comes_after_it_was_given_up_takes_nothing(self, site: Site) -> None:
        _given_up(site, _counted)

    @needs(scope="network")
    @lacks(death="at once")
    def test_a_claim_that_comes_after_its_release_takes_nothing(self, site: Site) -> None:
        _released(site, _exclusive)

    @needs("shared", scope="network")
    @lacks(death="at once")
    def test_a_readers_claim_that_comes_after_its_release_takes_nothing(self, site: Site) -> None:
        _released(site, _shared)

    @needs("counted", scope="network")
    @lacks(death="at once")
    def test_a_counted_claim_that_comes_after_its_release_takes_nothing(self, site: Site) -> None:
        _released(site, _counted)

    @needs(scope="network")
    @lacks(death="at once")
    def test_a_claim_that_comes_twice_is_granted_once(self, site: Site) -> None:
        with detour(site) as way:
            with _warm(way) as session, connect_to(site, label="other") as other:
                way.detain()
                grant = _held_up(way, Attempt(lambda: session.lock("a").acquire(timeout=LASTING)))
                way.deliver()
                seen = [(each.claim.holder.label, each.claim.token) for each in (other.look("a")).holders]
                assert seen == [("first", grant.token)]
                grant.release()
                assert there(other, "a") == ([], [])

    @needs(scope="network")
    @lacks(death="at once")
    @pytest.mark.parametrize("again", [False, True])
    def test_a_waiters_claim_that_comes_after_it_went_away_takes_no_place(self, site: Site, again: bool) -> None:
        with detour(site) as way:
            with _warm(way) as session, connect_to(site, label="other") as other:
                held = other.lock("a").acquire()
                request = (session.keeper()).request((Ask("a"),))
                way.detain()
                _sent(way, Attempt(lambda: session.engine.claim(request, wait=True)))
                if again:
                    session.engine.claim(request, wait=True)
                session.engine.withdraw(request)
                way.deliver()
                assert waiters(other, "a") == []
                held.release()
                assert there(other, "a") == ([], [])

    @needs(scope="network")
    @lacks(death="at once")
    def test_a_release_that_comes_after_the_next_grant_takes_nothing_away(self, site: Site) -> None:
        with detour(site) as way:
            with _warm(way) as session, connect_to(site, label="other") as other:
                first = session.lock("a").acquire()
                way.detain()
                try:
                    _held_up(way, Attempt(first.release))
                except (Uncertain, EngineError):
                    until_free(other, "a")
                second = session.lock("a").acquire(timeout=LASTING)
                way.deliver()
                seen = [(each.claim.holder.label, each.claim.token) for each in (other.look("a")).holders]
                assert seen == [("first", second.token)]
                assert second.token > first.token
                assert other.lock("a").try_acquire() is None

    @needs(scope="network")
    @lacks(death="at once")
    def test_a_withdrawal_that_comes_after_the_next_claim_takes_no_place_away(self, site: Site) -> None:
        with detour(site) as way:
            with _warm(way) as session, connect_to(site, label="other") as other:
                held = other.lock("a").acquire()
                request = stand_in_line(session, Ask("a"))
                way.detain()
                _sent(way, Attempt(lambda: session.engine.withdraw(request)))
                session.engine.withdraw(request)
                again = Attempt(lambda: session.lock("a").acquire(timeout=LASTING))
                until_waiting(other, "a", 1)
                way.deliver()
                assert waiters(other, "a") == ["first"]
                held.release()
                assert (again.outcome()).token > held.token

    @needs("downgrade", scope="network")
    @lacks(death="at once")
    def test_a_share_that_comes_after_the_next_grant_lets_nobody_in(self, site: Site) -> None:
        with detour(site) as way:
            with _warm(way) as session, connect_to(site, label="other") as other:
                first = session.rwlock("a").write().acquire()
                way.detain()
                try:
                    _held_up(way, Attempt(first.share))
                except Uncertain:
                    first.share()
                first.release()
                second = session.rwlock("a").write().acquire()
                way.deliver()
                assert other.rwlock("a").read().try_acquire() is None
                assert second.held


def _exclusive(session: Session) -> Acquirable[Grant]:
    return session.lock("a")


def _shared(session: Session) -> Acquirable[Grant]:
    return session.rwlock("a").read()


def _counted(session: Session) -> Acquirable[Grant]:
    return session.semaphore("a", limit=2)


def _given_up(site: Site, wish: Wish) -> None:
    with detour(site) as way:
        with _warm(way) as session, connect_to(site, label="other") as other:
            way.detain()
            try:
                grant = _held_up(way, Attempt(lambda: wish(session).try_acquire()))
            except (Uncertain, EngineError):
                until_free(other, "a")
            else:
                grant.release()
            way.deliver()
            assert there(other, "a") == ([], [])


def _released(site: Site, wish: Wish) -> None:
    with detour(site) as way:
        with _warm(way) as session, connect_to(site, label="other") as other:
            way.detain()
            grant = _held_up(way, Attempt(lambda: wish(session).acquire(timeout=LASTING)))
            grant.release()
            way.deliver()
            assert there(other, "a") == ([], [])


def _held_up(way: Detour, attempt: Attempt[Any]) -> Any:
    """What comes of it when its message is held up and its connection ends."""

    def under_way() -> bool:
        return way.has_kept() or attempt.ended.is_set()

    until(under_way)
    assert way.has_kept(), "it was sent over a connection that was not there before"
    way.hang_up()
    return attempt.outcome()


def _sent(way: Detour, attempt: Attempt[Any]) -> None:
    """The same for a call whose outcome does not matter: nobody knows it."""
    try:
        _held_up(way, attempt)
    except EngineError:
        pass


@contextmanager
def _warm(way: Detour) -> Iterator[Session]:
    """A session that has a lease, and the connections that it needs to ask and to wait."""
    with connect_to(way.site) as session:
        grant = session.lock("warm").acquire()
        session.engine.withdraw(stand_in_line(session, Ask("warm")))
        grant.release()
        yield session
