# Written by hand; the blocking twin under _sync is generated from it.
"""The law of deadlines: a call is back in time, whatever the engine does, and what is then unknown is settled later."""

import re
from types import TracebackType

import pytest

from fencepost._runtime import aio as runtime
from fencepost._runtime.clock import boottime
from fencepost.contract import registry
from fencepost.core.lease import Terms
from fencepost.core.url import parse_url
from fencepost.errors import AcquireTimeout, EngineError, Uncertain
from fencepost.primitives._async.session import AsyncSession
from fencepost.testing.contract._async.attempt import AsyncAttempt, until
from fencepost.testing.contract._async.place import (
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


class AsyncDeadlineChapter:
    @pytest.mark.parametrize("fault", ["silence", "drip"])
    @needs(scope="network")
    async def test_no_call_outlasts_its_time_when_the_engine_turns_silent(self, site: Site, fault: str) -> None:
        async with connect_to(site, label="other") as other:
            with detour(site) as way:
                session, brief = _connect(way.site.url), _connect(way.site.url, patience=1.0)
                held = await brief.lock("held").acquire()
                getattr(way, fault)()
                async with AsyncSoon():
                    with pytest.raises((EngineError, Uncertain)):
                        await session.lock("a").acquire(timeout=0.5)
                async with AsyncSoon():
                    with pytest.raises((EngineError, Uncertain)):
                        await session.lock("b").try_acquire()
                async with AsyncSoon():
                    with pytest.raises(EngineError):
                        await session.look("c")
                async with AsyncSoon():
                    try:
                        await held.release()
                        # What a few bytes say can drip through in time.
                        assert fault == "drip"
                    except Uncertain:
                        pass
                way.heal()

                async def nothing_is_left() -> bool:
                    found = [await holders(other, name) + await waiters(other, name) for name in ("a", "b", "held")]
                    return found == [[], [], []]

                # The lease lasts, and nobody asks: only the settlement can have done it.
                await until(nothing_is_left)
                async with session.lock("a", timeout=LASTING), session.lock("held", timeout=LASTING):
                    pass
                await session.close()
                await brief.close()

    @pytest.mark.parametrize("fault", ["silence", "drip"])
    @needs(scope="network")
    async def test_a_session_that_never_reached_the_engine_is_back_in_time(self, site: Site, fault: str) -> None:
        with detour(site) as way:
            getattr(way, fault)()
            session = _connect(way.site.url)
            async with AsyncSoon():
                with pytest.raises(EngineError):
                    await session.lock("a").acquire(timeout=0.5)
            async with AsyncSoon():
                await session.close()

    @pytest.mark.parametrize("known", [False, True], ids=["never reached", "turned silent"])
    @needs(scope="network")
    async def test_no_message_tells_of_a_longer_time_than_was_waited(self, site: Site, known: bool) -> None:
        with detour(site) as way:
            session = _connect(way.site.url)
            if known:
                await session.keeper()
            way.silence()
            for call in (
                lambda: session.lock("b").acquire(timeout=0.1),
                lambda: session.look("c"),
                lambda: session.names(),
            ):
                began_at = boottime()
                with pytest.raises((EngineError, Uncertain)) as caught:
                    await call()
                took = boottime() - began_at
                # A message gives three digits.
                assert [told for told in times_told(caught.value) if told > took * 1.01 + 0.001] == []
            async with AsyncSoon():
                await session.close()

    @needs(scope="network")
    async def test_whoever_is_in_no_hurry_keeps_nobody_else_beyond_its_time(self, site: Site) -> None:
        async with connect_to(site, label="other") as other:
            await other.lock("taken").acquire()
            with detour(site) as way:
                session = _connect(way.site.url)
                # Who has no time-out has the engine's own patience.
                session.limits = session.limits._replace(call=PATIENCE)
                held = await session.lock("held").acquire()
                way.silence()
                release = AsyncAttempt(held.release)
                wait = AsyncAttempt(lambda: session.lock("taken").acquire())
                for _ in range(3):
                    async with AsyncSoon():
                        with pytest.raises((EngineError, Uncertain)):
                            await session.lock("a").acquire(timeout=0.5)
                    async with AsyncSoon():
                        with pytest.raises((EngineError, Uncertain)):
                            await session.lock("b").try_acquire()
                way.heal()
                await session.close()
                for ended in (release.ended, wait.ended):
                    assert await ended.wait(PATIENCE * 3)

    @needs(scope="network")
    async def test_whoever_waits_when_the_engine_turns_silent_waits_no_longer_than_it_wanted(self, site: Site) -> None:
        async with connect_to(site, label="other") as other:
            await other.lock("a").acquire()
            with detour(site) as way:
                session = _connect(way.site.url, patience=1.0)
                await session.keeper()
                began_at = boottime()
                attempt = AsyncAttempt(lambda: session.lock("a").acquire(timeout=1.0))
                await until_queued(other, "a", attempt)
                way.silence()
                with pytest.raises((AcquireTimeout, EngineError, Uncertain)):
                    await attempt.outcome(PATIENCE * 3)
                assert boottime() - began_at < SOON
                async with AsyncSoon():
                    await session.close()

    @pytest.mark.parametrize("call", [1.0, 0.1], ids=["in a hurry", "with time for one exchange"])
    async def test_an_engine_that_hangs_is_left_at_the_time_out_and_settled_later(
        self, site: Site, call: float
    ) -> None:
        session, engine = connect_faulty(site, ttl=LASTING)
        async with session, connect_to(site, label="other") as other:
            # A call of an engine may take several exchanges with a server, each as long as one call of the session.
            session.limits = session.limits._replace(call=call, answer=1.0, farewell=0.1)
            engine.hang("claim", "withdraw")
            async with AsyncSoon():
                with pytest.raises(Uncertain):
                    await session.lock("a").acquire(timeout=0.2)
            engine.heal()

            async def is_free() -> bool:
                return await holders(other, "a") + await waiters(other, "a") == []

            await until(is_free)
            async with session.lock("a", timeout=LASTING):
                pass

    @needs("cells")
    async def test_meetings_and_elections_are_back_in_time_too(self, site: Site) -> None:
        session, engine = connect_faulty(site, ttl=LASTING)
        session.limits = session.limits._replace(answer=0.3, farewell=0.1)
        async with session:
            for call in (
                lambda: session.barrier("b", 2).wait(timeout=0.1),
                lambda: session.latch("l", 2).wait(timeout=0.1),
                lambda: session.election("e").campaign("me", timeout=0.1),
                lambda: session.group("g").acquire(timeout=0.1),
                lambda: session.partitions("p", 2).acquire(timeout=0.1),
                lambda: session.job("j").begin(1, timeout=0.1),
            ):
                engine.hang("cell_read", "cell_write", "cell_watch")
                async with AsyncSoon():
                    with pytest.raises((EngineError, Uncertain)):
                        await call()
                engine.heal()
            await session.election("e").campaign("me")

    @needs("meters")
    async def test_rate_limits_are_back_in_time_too(self, site: Site) -> None:
        session, engine = connect_faulty(site, ttl=LASTING)
        session.limits = session.limits._replace(answer=0.3, farewell=0.1)
        async with session:
            limit = session.rate_limit("r", 1, 60.0)
            engine.hang("meter")
            async with AsyncSoon():
                with pytest.raises(EngineError):
                    await limit.acquire(timeout=0.1)
            async with AsyncSoon():
                with pytest.raises(EngineError):
                    await limit.try_acquire()

    async def test_what_is_not_settled_delays_no_renewal(self, site: Site) -> None:
        session, engine = connect_brisk(site)
        async with session, connect_to(site, label="other") as other:
            kept = await session.lock("kept").acquire()
            settlement = (await session.keeper()).settlement
            session.limits = session.limits._replace(call=0.1, answer=0.1, farewell=0.1)
            async with other.lock("a"):
                engine.hang("withdraw")
                while len(settlement._open) < 3:
                    # Refused at once, if its time was over before it could ask for a place.
                    with pytest.raises((Uncertain, AcquireTimeout)):
                        await session.lock("a").acquire(timeout=0.1)

                async def somebody_settles_them() -> bool:
                    return bool(settlement._busy)

                # And hangs.
                await until(somebody_settles_them)
                renewals = engine.calls.count("lease_renew")
                await engine.called("lease_renew", times=renewals + 3)
                engine.heal()
            assert kept.held


class AsyncSoon:
    """The block is over long before the engine's own patience."""

    async def __aenter__(self) -> None:
        self._began_at = boottime()

    async def __aexit__(
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


def _connect(url: str, patience: float = PATIENCE) -> AsyncSession:
    """A session with limits as users have them, at an engine that would wait for much longer.

    A release has no time-out: it takes one patience, and not one more to settle it.
    """
    address, clock = parse_url(url), runtime.BootClock()
    engine = registry.async_engine(address.scheme)(address, clock=clock, patience=patience)
    session = AsyncSession(engine, Terms(LASTING), label="hasty", clock=clock)
    session.limits = session.limits._replace(call=0.3, answer=0.3, farewell=0.1, close=1.0)
    return session
