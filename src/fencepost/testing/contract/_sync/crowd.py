# Generated from src/fencepost/testing/contract/_async/crowd.py by tools/unasync.py. Do not edit: run `make gen`.
"""Where many wait, a release wakes exactly those that can run now: one, all readers up to the next writer, or as many
as there are permits."""

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self

from fencepost._runtime import threads as runtime
from fencepost.primitives._sync.session import Session
from fencepost.session._sync.grant import Grant
from fencepost.testing.contract._sync.attempt import Attempt, until
from fencepost.testing.contract._sync.place import LASTING, connect_faulty, connect_to, waiters
from fencepost.testing.contract.need import needs
from fencepost.testing.contract.site import Site

SESSIONS = 4
MANY = 100
# Where who is woken does not depend on how many wait.
SOME = 20
# Longer than any engine takes to let so many come: their waits end with the lease and begin anew.
TTL = LASTING
LONG = 90.0
# Long enough for any other to stir, if it was woken.
A_WHILE = 0.1

Waiter = Attempt[Grant]


class CrowdChapter:
    def test_of_a_hundred_who_wait_a_release_wakes_one(self, site: Site) -> None:
        with connect_to(site, ttl=TTL) as first, Crowd(site, first) as crowd:
            held = first.lock("a").acquire()
            attempts = crowd.join(MANY, lambda session: session.lock("a").acquire)
            for _ in range(3):
                calls = crowd.calls()
                held.release()
                (woken,) = _woken(attempts, 1)
                assert crowd.calls() == calls
                attempts.remove(woken)
                held = woken.outcome()

    @needs("shared")
    def test_all_readers_up_to_the_next_writer_are_woken(self, site: Site) -> None:
        with connect_to(site, ttl=TTL) as first, Crowd(site, first) as crowd:
            held = first.rwlock("a").write().acquire()
            readers = crowd.join(SOME, lambda session: session.rwlock("a").read().acquire)
            (writer,) = crowd.join(1, lambda session: session.rwlock("a").write().acquire)
            late = crowd.join(SOME, lambda session: session.rwlock("a").read().acquire)
            held.release()
            assert set(_woken([*readers, writer, *late], SOME)) == set(readers)
            for reader in readers:
                (reader.outcome()).release()
            assert _woken([writer, *late], 1) == [writer]
            (writer.outcome()).release()
            assert len(_woken(late, SOME)) == SOME

    @needs("counted")
    def test_as_many_are_woken_as_there_are_permits(self, site: Site) -> None:
        with connect_to(site, ttl=TTL) as first, Crowd(site, first) as crowd:
            three, two = [first.semaphore("a", limit=5, weight=weight).acquire() for weight in (3, 2)]
            attempts = crowd.join(SOME, lambda session: session.semaphore("a", limit=5).acquire)
            three.release()
            woken = _woken(attempts, 3)
            attempts = [each for each in attempts if each not in woken]
            two.release()
            assert len(_woken(attempts, 2)) == 2


class Crowd:
    """A few sessions in which many wait."""

    def __init__(self, site: Site, first: Session) -> None:
        self._first = first
        self._pairs = [connect_faulty(site, label=f"crowd {number}", ttl=TTL) for number in range(SESSIONS)]
        self._count = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for session, _ in self._pairs:
            session.close()

    def join(self, count: int, ask: Callable[[Session], Any]) -> list[Waiter]:
        """They come at once, in any order, behind all who came before."""
        attempts = [Attempt(ask(self._pairs[number % SESSIONS][0])) for number in range(count)]
        self._count += count

        def at_rest() -> bool:
            return sum(engine.calls.count("wait") for _, engine in self._pairs) >= self._count

        until(at_rest, LONG)
        # Asked once all are there: to show so many is work for the server.
        assert len(waiters(self._first, "a")) == self._count
        return attempts

    def calls(self) -> list[int]:
        """How much each session has asked of its engine that a herd would ask."""
        return [sum(call not in ("lease_renew", "release") for call in engine.calls) for _, engine in self._pairs]


def _woken(attempts: Sequence[Waiter], count: int) -> list[Waiter]:
    """Those who have it, once they are that many; and a while later no more have."""

    def enough() -> bool:
        return sum(each.ended.is_set() for each in attempts) >= count

    until(enough, LONG)
    runtime.sleep(A_WHILE)
    found = [each for each in attempts if each.ended.is_set()]
    held = [(attempts.index(each), (each.outcome()).token) for each in found]
    assert len(found) == count, f"who came when, and the token: {held}"
    return found
