# Written by hand; the blocking twin under _sync is generated from it.
"""Courtesy: a holder can be asked to let go, and nobody who comes after is meant."""

from typing import cast

import pytest

from fencepost.contract._async.cell import AsyncCellEngine
from fencepost.core.event import AskedToYield, Event
from fencepost.errors import Unsupported
from fencepost.primitives._async.session import AsyncSession
from fencepost.testing.contract._async.attempt import WITHIN, AsyncAttempt, until
from fencepost.testing.contract._async.place import connect_to, until_waiting
from fencepost.testing.contract.need import lacks, needs
from fencepost.testing.contract.site import Site


class AsyncCourtesyChapter:
    @lacks("cells")
    async def test_an_engine_without_cells_says_so(self, site: Site) -> None:
        async with connect_to(site) as session, session.lock("a") as grant:
            with pytest.raises(Unsupported, match="keeps no shared values"):
                _ = grant.asked_to_yield

    @needs("cells")
    async def test_the_holder_is_told_and_the_next_one_is_not_meant(self, site: Site) -> None:
        happened: list[Event] = []
        async with connect_to(site) as first, connect_to(site, label="second") as second:
            first.subscribe(happened.append, AskedToYield)
            async with first.lock("a") as grant:
                assert not grant.asked_to_yield.is_set()
                assert await second.ask_to_yield("a", reason="a deployment")
                assert await grant.asked_to_yield.wait(WITHIN)
                # It is a request, and no more.
                assert grant.held
            async with second.lock("a") as following:
                assert not await following.asked_to_yield.wait(0.1)
        (told,) = happened
        assert isinstance(told, AskedToYield)
        assert (told.name, told.token, told.by, told.reason) == ("a", grant.token, "second", "a deployment")

    @needs("cells")
    async def test_a_holder_that_looks_later_still_finds_the_request(self, site: Site) -> None:
        async with connect_to(site) as first, connect_to(site, label="second") as second:
            async with first.lock("a") as grant:
                await second.ask_to_yield("a")
                assert await grant.asked_to_yield.wait(WITHIN)
            assert await second.ask_to_yield("a") is False

    @needs("cells")
    async def test_a_request_leaves_nothing_once_a_holder_that_was_told_lets_go(self, site: Site) -> None:
        async with connect_to(site) as first, connect_to(site, label="second") as second:
            for name in ("a", "b", "c"):
                async with first.lock(name) as grant:
                    await second.ask_to_yield(name)
                    assert await grant.asked_to_yield.wait(WITHIN)
                    assert await _wish(second, name) is not None
                assert await _wish(second, name) is None

    @needs("cells")
    async def test_a_request_leaves_nothing_once_whoever_asked_has_the_name(self, site: Site) -> None:
        async with connect_to(site) as first, connect_to(site, label="second") as second:
            held = await first.lock("a").acquire()
            await second.ask_to_yield("a")
            waiting = AsyncAttempt(second.lock("a").acquire)
            await until_waiting(first, "a", 1)
            await held.release()
            grant = await waiting.outcome()

            async def cleared() -> bool:
                return await _wish(first, "a") is None

            await until(cleared)
            # One for whoever has it now is another matter.
            await first.ask_to_yield("a", reason="again")
            await second.courtesy.clear(grant, grant.token - 1)
            assert await _wish(first, "a") is not None
            assert await grant.asked_to_yield.wait(WITHIN)
            await grant.release()

    @needs("cells")
    async def test_a_request_that_nobody_heard_is_cleared_by_the_next_who_listens(self, site: Site) -> None:
        async with connect_to(site) as first, connect_to(site, label="second") as second:
            async with first.lock("a"):
                await second.ask_to_yield("a")
            assert await _wish(second, "a") is not None
            async with first.lock("a") as grant:
                assert not grant.asked_to_yield.is_set()

                async def cleared() -> bool:
                    return await _wish(second, "a") is None

                await until(cleared)
                await second.ask_to_yield("a")
                assert await grant.asked_to_yield.wait(WITHIN)

    @needs("counted", "cells")
    async def test_a_request_to_several_holders_stays_until_the_last_of_them_has_left(self, site: Site) -> None:
        async with connect_to(site) as first, connect_to(site, label="second") as second:
            one = await first.semaphore("a", limit=2).acquire()
            other = await first.semaphore("a", limit=2).acquire()
            await second.ask_to_yield("a")
            assert await other.asked_to_yield.wait(WITHIN)
            await other.release()
            assert await _wish(second, "a") is not None
            # It has not looked before.
            assert await one.asked_to_yield.wait(WITHIN)


async def _wish(session: AsyncSession, name: str) -> str | None:
    """What the engine keeps of requests to yield the name."""
    return (await cast(AsyncCellEngine, session.engine).cells.read(f"yield/{name}")).value
