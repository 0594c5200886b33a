# Generated from src/fencepost/testing/contract/_async/deadline.py by tools/unasync.py. Do not edit: run `make gen`.
"""The law of deadlines: a call is back in time, whatever the engine does, and what is then unknown is settled later."""

import re
from types import TracebackType

import pytest

from fencepost._runtime import threads as runtime
from fencepost._runtime.clock import boottime
from fencepost.contract import registry
from fencepost.core.lease import Terms
from fencepost.core.url import parse_url
from fencepost.errors import AcquireTimeout, EngineError, Uncertain
from fencepost.primitives._sync.session import Session
from fencepost.testing.contract._sync.attempt import Attempt, until
from fencepost.testing.contract._sync.place import (
    LASTING,
    connect_brisk,
    connect_faulty,
    connect_to,
    holders,
    until_queued,
    waiters,
)
from fencepost.testing.contract.detour import detour
from fencepost.testing.contract.need import needs
from fencepost.testing.contract.site import Site

# How long the engine itself would wait for an answer; and a part of it that no busy machine needs to come back.
PATIENCE, SOON = 30.0, 10.0


class DeadlineChapter:
    @pytest.mark.parametrize("fault", ["silence", "drip"])
    @needs(scope="network")
    def test_no_call_outlasts_its_time_when_the_engine_turns_silent(self, site: Site, fault: str) -> None:
        with connect_to(site, label="other") as other:
            with detour(site) as way:
                session, brief = _connect(way.site.url), _connect(way.site.url, patience=1.0)
                held = brief.lock("held").acquire()
                getattr(way, fault)()
                with Soon():
                    with pytest.raises((EngineError, Uncertain)):
                        session.lock("a").acquire(timeout=0.5)
                with Soon():
                    with pytest.raises((EngineError, Uncertain)):
                        session.lock("b").try_acquire()
                with Soon():
                    with pytest.raises(EngineError):
                        session.look("c")
                with Soon():
                    try:
                        held.release()
                        # What a few bytes say can drip through in time.
                        assert fault == "drip"
                    except Uncertain:
                        pass
                way.heal()

                def nothing_is_left() -> bool:
                    found = [holders(other, name) + waiters(other, name) for name in ("a", "b", "held")]
                    return found == [[], [], []]

                # The lease lasts, and nobody asks: only the settlement can have done it.
                until(nothing_is_left)
                with session.lock("a", timeout=LASTING), session.lock("held", timeout=LASTING):
                    pass
                session.close()
                brief.close()

    @pytest.mark.parametrize("fault", ["silence", "drip"])
    @needs(scope="network")
    def test_a_session_that_never_reached_the_engine_is_back_in_time(self, site: Site, fault: str) -> None:
        with detour(site) as way:
            getattr(way, fault)()
            session = _connect(way.site.url)
            with Soon():
                with pytest.raises(EngineError):
                    session.lock("a").acquire(timeout=0.5)
            with Soon():
                session.close()

    @pytest.mark.parametrize("known", [False, True], ids=["never reached", "turned silent"])
    @needs(scope="network")
    def test_no_message_tells_of_a_longer_time_than_was_waited(self, site: Site, known: bool) -> None:
        with detour(site) as way:
            session = _connect(way.site.url)
            if known:
                session.keeper()
            way.silence()
            for call in (
                lambda: session.lock("b").acquire(timeout=0.1),
                lambda: session.look("c"),
                lambda: session.names(),
            ):
                began_at = boottime()
                with pytest.raises((EngineError, Uncertain)) as caught:
                    call()
                took = boottime() - began_at
                # A message gives three digits.
                assert [told for told in times_told(caught.value) if told > took * 1.01 + 0.001] == []
            with Soon():
                session.close()

    @needs(scope="network")
    def test_whoever_is_in_no_hurry_keeps_nobody_else_beyond_its_time(self, site: Site) -> None:
        with connect_to(site, label="other") as other:
            other.lock("taken").acquire()
            with detour(site) as way:
                session = _connect(way.site.url)
                # Who has no time-out has the engine's own patience.
                session.limits = session.limits._replace(call=PATIENCE)
                held = session.lock("held").acquire()
                way.silence()
                release = Attempt(held.release)
                wait = Attempt(lambda: session.lock("taken").acquire())
                for _ in range(3):
                    with Soon():
                        with pytest.raises((EngineError, Uncertain)):
                            session.lock("a").acquire(timeout=0.5)
                    with Soon():
                        with pytest.raises((EngineError, Uncertain)):
                            session.lock("b").try_acquire()
                way.heal()
                session.close()
                for ended in (release.ended, wait.ended):
                    assert ended.wait(PATIENCE * 3)

    @needs(scope="network")
    def test_whoever_waits_when_the_engine_turns_silent_waits_no_longer_than_it_wanted(self, site: Site) -> None:
        with connect_to(site, label="other") as other:
            other.lock("a").acquire()
            with detour(site) as way:
                session = _connect(way.site.url, patience=1.0)
                session.keeper()
                began_at = boottime()
                attempt = Attempt(lambda: session.lock("a").acquire(timeout=1.0))
                until_queued(other, "a", attempt)
                way.silence()
                with pytest.raises((AcquireTimeout, EngineError, Uncertain)):
                    attempt.outcome(PATIENCE * 3)
                assert boottime() - began_at < SOON
                with Soon():
                    session.close()

    @pytest.mark.parametrize("call", [1.0, 0.1], ids=["in a hurry", "with time for one exchange"])
    def test_an_engine_that_hangs_is_left_at_the_time_out_and_settled_later(
        self, site: Site, call: float
    ) -> None:
        session, engine = connect_faulty(site, ttl=LASTING)
        with session, connect_to(site, label="other") as other:
            # A call of an engine may take several exchanges with a server, each as long as one call of the session.
            session.limits = session.limits._replace(call=call, answer=1.0, farewell=0.1)
            engine.hang("claim", "withdraw")
            with Soon():
                with pytest.raises(Uncertain):
                    session.lock("a").acquire(timeout=0.2)
            engine.heal()

            def is_free() -> bool:
                return holders(other, "a") + waiters(other, "a") == []

            until(is_free)
            with session.lock("a", timeout=LASTING):
                pass

    @needs("cells")
    def test_meetings_and_elections_are_back_in_time_too(self, site: Site) -> None:
        session, engine = connect_faulty(site, ttl=LASTING)
        session.limits = session.limits._replace(answer=0.3, farewell=0.1)
        with session:
            for call in (
                lambda: session.barrier("b", 2).wait(timeout=0.1),
                lambda: session.latch("l", 2).wait(timeout=0.1),
                lambda: session.election("e").campaign("me", timeout=0.1),
                lambda: session.group("g").acquire(timeout=0.1),
                lambda: session.partitions("p", 2).acquire(timeout=0.1),
                lambda: session.job("j").begin(1, timeout=0.1),
            ):
                engine.hang("cell_read", "cell_write", "cell_watch")
                with Soon():
                    with pytest.raises((EngineError, Uncertain)):
                        call()
                engine.heal()
            session.election("e").campaign("me")

    @needs("meters")
    def test_rate_limits_are_back_in_time_too(self, site: Site) -> None:
        session, engine = connect_faulty(site, ttl=LASTING)
        session.limits = session.limits._replace(answer=0.3, farewell=0.1)
        with session:
            limit = session.rate_limit("r", 1, 60.0)
            engine.hang("meter")
            with Soon():
                with pytest.raises(EngineError):
                    limit.acquire(timeout=0.1)
            with Soon():
                with pytest.raises(EngineError):
                    limit.try_acquire()

    def test_what_is_not_settled_delays_no_renewal(self, site: Site) -> None:
        session, engine = connect_brisk(site)
        with session, connect_to(site, label="other") as other:
            kept = session.lock("kept").acquire()
            settlement = (session.keeper()).settlement
            session.limits = session.limits._replace(call=0.1, answer=0.1, farewell=0.1)
            with other.lock("a"):
                engine.hang("withdraw")
                while len(settlement._open) < 3:
                    # Refused at once, if its time was over before it could ask for a place.
                    with pytest.raises((Uncertain, AcquireTimeout)):
                        session.lock("a").acquire(timeout=0.1)

                def somebody_settles_them() -> bool:
                    return bool(settlement._busy)

                # And hangs.
                until(somebody_settles_them)
                renewals = engine.calls.count("lease_renew")
                engine.called("lease_renew", times=renewals + 3)
                engine.heal()
            assert kept.held


class Soon:
    """The block is over long before the engine's own patience."""

    def __enter__(self) -> None:
        self._began_at = boottime()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert error is not None or boottime() - self._began_at < SOON


def times_told(error: BaseException | None) -> list[float]:
    """Of how many seconds without an answer an error tells, or any of those that led to it."""
    found: list[float] = []
    while error is not None:
        found += map(float, re.findall(r"did not answer within ([0-9.e-]+) s", str(error)))
        error = error.__cause__ or error.__context__
    return found


def _connect(url: str, patience: float = PATIENCE) -> Session:
    """A session with limits as users have them, at an engine that would wait for much longer.

    A release has no time-out: it takes one patience, and not one more to settle it.
    """
    address, clock = parse_url(url), runtime.BootClock()
    engine = registry.engine(address.scheme)(address, clock=clock, patience=patience)
    session = Session(engine, Terms(LASTING), label="hasty", clock=clock)
    session.limits = session.limits._replace(call=0.3, answer=0.3, farewell=0.1, close=1.0)
    return session
