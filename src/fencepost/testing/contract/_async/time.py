# Written by hand; the blocking twin under _sync is generated from it.
"""The law of time: counted from the send, on the holder's own clock, and told before anyone else is granted."""

import pytest

from fencepost.core.event import Event, Jeopardy, Recovered
from fencepost.core.lease import Standing, Terms
from fencepost.errors import Lost
from fencepost.testing.contract._async.attempt import WITHIN, AsyncAttempt, until
from fencepost.testing.contract._async.place import (
    LASTING,
    connect_brisk,
    connect_faulty,
    connect_to,
    until_queued,
)
from fencepost.testing.contract._async.puppet import AsyncPuppet
from fencepost.testing.contract.need import needs
from fencepost.testing.contract.site import Site


class AsyncTimeChapter:
    async def test_a_lease_is_counted_from_the_send_not_from_the_answer(self, site: Site) -> None:
        # Long enough that no renewal, which would start the count anew, comes in between on a busy machine.
        session, engine = connect_faulty(site, ttl=LASTING)
        engine.delay("lease_open", 0.3)
        async with session, session.lock("a") as grant:
            # The answer came so much after the send: that much of the lease was gone when the session began.
            assert grant.remaining() <= Terms(LASTING).span - 0.3
            assert "lease_renew" not in engine.calls

    async def test_a_renewal_is_counted_from_the_send_too(self, site: Site) -> None:
        session, engine = connect_faulty(site, ttl=LASTING)
        async with session, session.lock("a") as grant:
            engine.delay("lease_renew", 0.3)
            assert await (await session.keeper())._renew()
            assert grant.remaining() <= Terms(LASTING).span - 0.3
            assert engine.calls.count("lease_renew") == 1

    async def test_the_holder_is_told_before_another_is_granted_even_if_the_engine_never_answers(
        self, site: Site
    ) -> None:
        await self._lose_to_another(site, margin=0.0)

    async def test_the_margin_is_how_long_before_that_the_holder_is_told(self, site: Site) -> None:
        await self._lose_to_another(site, margin=site.ttl / 3)

    async def _lose_to_another(self, site: Site, margin: float) -> None:
        session, engine = connect_faulty(site, margin=margin)
        async with session, connect_to(site, label="second") as second:
            grant = await session.lock("a").acquire()
            engine.hang()
            try:
                granted = AsyncAttempt(second.lock("a").acquire)
                # Nobody asks, and nobody answers: the news comes by itself.
                assert await grant.lost.wait(WITHIN)
                assert grant.standing is Standing.LOST
                new = await granted.outcome()
                assert not grant.held
                # The lease ended for its holder that much earlier.
                assert grant._keeper.ends_at <= new.granted_at - margin
            finally:
                engine.heal()

    async def test_failing_renewals_are_jeopardy_and_not_yet_a_loss(self, site: Site) -> None:
        session, engine = connect_brisk(site)
        happened: list[type[Event]] = []
        async with session:
            session.subscribe(lambda each: happened.append(type(each)), Jeopardy, Recovered)
            async with session.lock("a") as grant:
                assert grant.standing is Standing.HELD
                engine.cut()

                async def in_jeopardy() -> bool:
                    return grant.standing is Standing.JEOPARDY

                await until(in_jeopardy)
                assert grant.held
                assert 0 < grant.remaining() < LASTING
                engine.heal()

                async def recovered() -> bool:
                    # The news comes after the fact, and from the keeper's thread in blocking code.
                    return happened[-1:] == [Recovered]

                await until(recovered)
                assert grant.standing is Standing.HELD
            assert happened[0] is Jeopardy
            assert session.statistics().failed_renewals >= 1
            assert session.statistics().lost == 0

    async def test_what_remains_never_exceeds_the_ttl_and_renewal_restores_it(self, site: Site) -> None:
        session, engine = connect_brisk(site)
        async with session, session.lock("a") as grant:
            least = grant.remaining()

            async def restored() -> bool:
                nonlocal least
                left = grant.remaining()
                assert left < LASTING
                # Without a renewal it becomes less and less.
                rose, least = left > least, min(left, least)
                return rose

            await until(restored)
            await until(restored)
            assert "lease_renew" in engine.calls

    async def test_require_raises_unless_that_much_lease_is_proven(self, site: Site) -> None:
        async with connect_to(site) as session, session.lock("a") as grant:
            grant.require(LASTING / 4)
            with pytest.raises(Lost, match="is proven for"):
                grant.require(LASTING + 1)

    @needs(scope="host")
    async def test_a_stopped_process_finds_its_loss_before_its_next_line_that_asks(self, site: Site) -> None:
        async with AsyncPuppet(site, "stopped") as stopped, connect_to(site) as session:
            await stopped.ask("acquire", name="a", timeout=0)
            attempt = AsyncAttempt(session.lock("a").acquire)
            await until_queued(session, "a", attempt)
            stopped.stop()
            new = await attempt.outcome()
            stopped.tell("held", name="a")
            stopped.resume()
            assert await stopped.answer() == {"held": False, "remaining": 0.0, "standing": "lost"}
            assert new.held
