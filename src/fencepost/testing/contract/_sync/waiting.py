# Generated from src/fencepost/testing/contract/_async/waiting.py by tools/unasync.py. Do not edit: run `make gen`.
"""The law of waiting: first come, first served, woken by push, one waiter per release."""

from functools import partial

import pytest

from fencepost._runtime import threads as runtime
from fencepost.contract.answer import Queued
from fencepost.core.claim import Ask
from fencepost.core.event import Event, Unsettled
from fencepost.errors import FencepostError
from fencepost.testing.contract._sync.attempt import Attempt, until
from fencepost.testing.contract._sync.place import (
    LASTING,
    connect_faulty,
    connect_to,
    holders,
    stand_in_line,
    until_waiting,
    waiters,
)
from fencepost.testing.contract._sync.puppet import Puppet
from fencepost.testing.contract.need import needs
from fencepost.testing.contract.site import Site


class WaitingChapter:
    def test_waiters_of_one_session_are_served_in_order_of_arrival(self, site: Site) -> None:
        with connect_to(site) as session:
            held = session.lock("a").acquire()
            attempts = []
            for number in range(6):
                attempts.append(Attempt(session.lock("a").acquire))
                until_waiting(session, "a", number + 1)
            for attempt in attempts:
                held.release()
                held = attempt.outcome()
            held.release()

    def test_waiters_of_many_sessions_are_served_in_order_of_arrival(self, site: Site) -> None:
        sessions = [connect_to(site, label=f"waiter {number}") for number in range(5)]
        with connect_to(site) as first:
            held = first.lock("a").acquire()
            attempts = []
            for number, session in enumerate(sessions):
                attempts.append(Attempt(session.lock("a").acquire))
                until_waiting(first, "a", number + 1)
            assert waiters(first, "a") == [f"waiter {number}" for number in range(5)]
            for number, attempt in enumerate(attempts):
                held.release()
                held = attempt.outcome()
                assert holders(first, "a") == [f"waiter {number}"]
        for session in sessions:
            session.close()

    def test_all_who_begin_to_wait_at_once_in_a_new_session_are_answered(self, site: Site) -> None:
        with connect_to(site) as other, connect_to(site, label="new") as session:
            held = other.lock("a").acquire()
            keeper = session.keeper()
            requests = [keeper.request((Ask("a"),)) for _ in range(6)]
            # Past the session, which would ask again where the engine does not answer.
            claims = [Attempt(partial(session.engine.claim, request, wait=True)) for request in requests]
            for claim in claims:
                assert isinstance(claim.outcome(), Queued)
            assert len(waiters(other, "a")) == len(requests)
            for request in requests:
                session.engine.withdraw(request)
            assert waiters(other, "a") == []
            held.release()

    def test_waiters_of_a_session_that_closes_leave_without_a_word_of_doubt(self, site: Site) -> None:
        happened: list[Event] = []
        with connect_to(site) as other:
            other.lock("a").acquire()
            session = connect_to(site, label="second")
            session.subscribe(happened.append, Unsettled)
            attempts = [Attempt(session.lock("a").acquire) for _ in range(3)]
            until_waiting(other, "a", 3)
            session.close()
            for attempt in attempts:
                with pytest.raises(FencepostError):
                    attempt.outcome()
            until_waiting(other, "a", 0)
        assert happened == []

    @needs(scope="host")
    def test_processes_are_served_in_order_of_arrival(self, site: Site) -> None:
        with (
            connect_to(site) as session,
            Puppet(site, "one", ttl=LASTING) as one,
            Puppet(site, "two", ttl=LASTING) as two,
            Puppet(site, "three", ttl=LASTING) as three,
        ):
            held = session.lock("a").acquire()
            line = [three, one, two]
            for number, puppet in enumerate(line):
                puppet.tell("acquire", name="a", timeout=None)
                until_waiting(session, "a", number + 1)
            held.release()
            tokens = []
            for puppet in line:
                tokens.append((puppet.answer())["token"])
                assert holders(session, "a") == [puppet.label]
                puppet.ask("release", name="a")
            assert tokens == sorted(set(tokens))

    def test_a_sleeping_waiter_is_woken_by_push(self, site: Site) -> None:
        session, engine = connect_faulty(site, ttl=LASTING)
        with session, connect_to(site) as first:
            for round in range(1, 4):
                held = first.lock("a").acquire()
                attempt = Attempt(session.lock("a").acquire)
                until_waiting(first, "a", 1)
                engine.called("wait", times=round)
                calls = list(engine.calls)
                # Long enough for whoever polls to have asked again.
                runtime.sleep(0.1)
                held.release()
                grant = attempt.outcome()
                # It asked for nothing more, and had no reason to look by itself: the next renewal is far away.
                assert engine.calls == calls
                grant.release()

    def test_a_release_wakes_one_waiter_and_no_other(self, site: Site) -> None:
        pairs = [connect_faulty(site, label=f"waiter {number}", ttl=LASTING) for number in range(6)]
        with connect_to(site) as first:
            held = first.lock("a").acquire()
            attempts = []
            for number, (session, engine) in enumerate(pairs):
                attempts.append(Attempt(session.lock("a").acquire))
                until_waiting(first, "a", number + 1)
                engine.called("wait")
            asked = [len(engine.calls) for _, engine in pairs]
            held.release()
            woken = attempts[0].outcome()
            # A herd would show as further calls of those whose turn it is not.
            assert [len(engine.calls) for _, engine in pairs[1:]] == asked[1:]
            assert not any(attempt.ended.is_set() for attempt in attempts[1:])
            woken.release()
            for attempt in attempts[1:]:
                (attempt.outcome()).release()
        for session, _ in pairs:
            session.close()

    def test_a_waiter_that_gives_up_is_skipped_at_once(self, site: Site) -> None:
        with (
            connect_to(site) as first,
            connect_to(site, label="second") as second,
            connect_to(site, label="third") as third,
        ):
            held = first.lock("a").acquire()
            impatient = stand_in_line(second, Ask("a"))
            patient = Attempt(third.lock("a").acquire)
            until_waiting(first, "a", 2)
            second.engine.withdraw(impatient)
            held.release()
            # Well before the lease of the one that gave up would have ended.
            (patient.outcome()).release()

    def test_a_waiter_behind_one_that_gave_up_still_notices_the_end_of_the_holder(self, site: Site) -> None:
        session, engine = connect_faulty(site)
        with (
            session,
            connect_to(site, label="second") as second,
            connect_to(site, label="third") as third,
        ):
            session.lock("a").acquire()
            impatient = stand_in_line(second, Ask("a"))
            patient = Attempt(third.lock("a").acquire)

            def queued() -> bool:
                return patient.ended.is_set() or "third" in waiters(second, "a")

            until(queued)
            second.engine.withdraw(impatient)
            engine.cut()
            # The lease of the one that gave up is much longer: it must not be the one that is watched.
            grant = patient.outcome()
            assert grant.held
            engine.heal()

    @needs(scope="host")
    def test_a_killed_waiter_is_skipped(self, site: Site) -> None:
        with connect_to(site) as session, Puppet(site, "victim") as victim:
            held = session.lock("a").acquire()
            victim.tell("acquire", name="a", timeout=None)
            until_waiting(session, "a", 1)
            behind = Attempt(session.lock("a").acquire)
            until_waiting(session, "a", 2)
            victim.kill()
            held.release()
            (behind.outcome()).release()
