# Written by hand; the blocking twin under _sync is generated from it.
"""The law of time: counted from the send, on the holder's own clock, and told before anyone else is granted."""

import pytest

from fencepost._runtime import aio as runtime
from fencepost.core.event import Event, Jeopardy, Recovered
from fencepost.core.lease import Standing
from fencepost.errors import Lost
from fencepost.testing.contract._async.attempt import AsyncAttempt, until
from fencepost.testing.contract._async.place import LASTING, connect_faulty, connect_to, until_waiting
from fencepost.testing.contract._async.puppet import AsyncPuppet
from fencepost.testing.contract.need import needs
from fencepost.testing.contract.site import Site
from fencepost.testing.stall import StallMeter

now = runtime.BootClock.now
# How late an alarm may ring, beside what the machine itself is late.
PROMPT = 0.2


class AsyncTimeChapter:
    async def test_a_lease_is_counted_from_the_send_not_from_the_answer(self, site: Site) -> None:
        # Long enough that no renewal, which would start the count anew, comes in between on a busy machine.
        session, engine = connect_faulty(site, ttl=LASTING)
        engine.delay("lease_open", 0.3)
        async with session, session.lock("a") as grant:
            # The answer came so much after the send: that much of the lease was gone when the session began.
            assert grant.remaining() <= 10 - 0.3
            assert "lease_renew" not in engine.calls

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
            keeper = await session.keeper()
            told = AsyncAttempt(_instant_of(grant.lost))
            with StallMeter() as stalls:
                engine.hang()
                await second.lock("a").acquire(timeout=site.ttl * 4 + 5)
                granted_at = now()
                told_at = await told.outcome()
                engine.heal()
            assert not grant.held
            assert grant.standing is Standing.LOST
            # The lease ended for its holder that much earlier, and the news of it came by itself, at once.
            assert keeper.ends_at <= granted_at - margin
            assert told_at - keeper.ends_at < PROMPT + stalls.between(keeper.ends_at, told_at)

    async def test_failing_renewals_are_jeopardy_and_not_yet_a_loss(self, site: Site) -> None:
        session, engine = connect_faulty(site)
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
                assert 0 < grant.remaining() < site.ttl
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
        session, engine = connect_faulty(site)
        async with session, session.lock("a") as grant:
            before = grant.remaining()
            assert before < site.ttl
            await engine.called("lease_renew", times=2)

            async def restored() -> bool:
                return site.ttl / 2 < grant.remaining() < site.ttl

            await until(restored)

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
            await until_waiting(session, "a", 1)
            stopped.stop()
            new = await attempt.outcome(site.ttl * 4 + 5)
            stopped.tell("held", name="a")
            stopped.resume()
            assert await stopped.answer() == {"held": False, "remaining": 0.0, "standing": "lost"}
            assert new.held


def _instant_of(event: runtime.Event) -> runtime.Work[float]:
    async def waited() -> float:
        await event.wait()
        return now()

    return waited
