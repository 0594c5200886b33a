# Written by hand; the blocking twin under _sync is generated from it.
"""Courtesy: a holder can be asked to let go, and nobody who comes after is meant."""

import pytest

from fencepost.core.event import AskedToYield, Event
from fencepost.errors import Unsupported
from fencepost.testing.contract._async.place import connect_to
from fencepost.testing.contract.site import Site


class AsyncCourtesyChapter:
    async def test_an_engine_without_cells_says_so(self, site: Site) -> None:
        if site.traits.cells:
            return
        async with connect_to(site) as session, session.lock("a") as grant:
            with pytest.raises(Unsupported, match="keeps no shared values"):
                _ = grant.asked_to_yield

    async def test_the_holder_is_told_and_the_next_one_is_not_meant(self, site: Site) -> None:
        if not site.traits.cells:
            return
        happened: list[Event] = []
        async with connect_to(site) as first, connect_to(site, label="second") as second:
            first.subscribe(happened.append, AskedToYield)
            async with first.lock("a") as grant:
                assert not grant.asked_to_yield.is_set()
                assert await second.ask_to_yield("a", reason="a deployment")
                assert await grant.asked_to_yield.wait(20)
                # It is a request, and no more.
                assert grant.held
            async with second.lock("a") as following:
                assert not await following.asked_to_yield.wait(0.1)
        (told,) = happened
        assert isinstance(told, AskedToYield)
        assert (told.name, told.token, told.by, told.reason) == ("a", grant.token, "second", "a deployment")

    async def test_a_holder_that_looks_later_still_finds_the_request(self, site: Site) -> None:
        if not site.traits.cells:
            return
        async with connect_to(site) as first, connect_to(site, label="second") as second:
            async with first.lock("a") as grant:
                await second.ask_to_yield("a")
                assert await grant.asked_to_yield.wait(20)
            assert await second.ask_to_yield("a") is False
