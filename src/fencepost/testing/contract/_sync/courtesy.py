# Generated from src/fencepost/testing/contract/_async/courtesy.py by tools/unasync.py. Do not edit: run `make gen`.
"""Courtesy: a holder can be asked to let go, and nobody who comes after is meant."""

from typing import cast

import pytest

from fencepost.contract._sync.cell import CellEngine
from fencepost.core.event import AskedToYield, Event
from fencepost.errors import Unsupported
from fencepost.primitives._sync.session import Session
from fencepost.testing.contract._sync.attempt import WITHIN, Attempt, until
from fencepost.testing.contract._sync.place import connect_to, until_waiting
from fencepost.testing.contract.need import lacks, needs
from fencepost.testing.contract.site import Site


class CourtesyChapter:
    @lacks("cells")
    def test_an_engine_without_cells_says_so(self, site: Site) -> None:
        with connect_to(site) as session, session.lock("a") as grant:
            with pytest.raises(Unsupported, match="keeps no shared values"):
                _ = grant.asked_to_yield

    @needs("cells")
    def test_the_holder_is_told_and_the_next_one_is_not_meant(self, site: Site) -> None:
        happened: list[Event] = []
        with connect_to(site) as first, connect_to(site, label="second") as second:
            first.subscribe(happened.append, AskedToYield)
            with first.lock("a") as grant:
                assert not grant.asked_to_yield.is_set()
                assert second.ask_to_yield("a", reason="a deployment")
                assert grant.asked_to_yield.wait(WITHIN)
                # It is a request, and no more.
                assert grant.held
            with second.lock("a") as following:
                assert not following.asked_to_yield.wait(0.1)
        (told,) = happened
        assert isinstance(told, AskedToYield)
        assert (told.name, told.token, told.by, told.reason) == ("a", grant.token, "second", "a deployment")

    @needs("cells")
    def test_a_holder_that_looks_later_still_finds_the_request(self, site: Site) -> None:
        with connect_to(site) as first, connect_to(site, label="second") as second:
            with first.lock("a") as grant:
                second.ask_to_yield("a")
                assert grant.asked_to_yield.wait(WITHIN)
            assert second.ask_to_yield("a") is False

    @needs("cells")
    def test_a_request_leaves_nothing_once_a_holder_that_was_told_lets_go(self, site: Site) -> None:
        with connect_to(site) as first, connect_to(site, label="second") as second:
            for name in ("a", "b", "c"):
                with first.lock(name) as grant:
                    second.ask_to_yield(name)
                    assert grant.asked_to_yield.wait(WITHIN)
                    assert _wish(second, name) is not None
                assert _wish(second, name) is None

    @needs("cells")
    def test_a_request_leaves_nothing_once_whoever_asked_has_the_name(self, site: Site) -> None:
        with connect_to(site) as first, connect_to(site, label="second") as second:
            held = first.lock("a").acquire()
            second.ask_to_yield("a")
            waiting = Attempt(second.lock("a").acquire)
            until_waiting(first, "a", 1)
            held.release()
            grant = waiting.outcome()

            def cleared() -> bool:
                return _wish(first, "a") is None

            until(cleared)
            # One for whoever has it now is another matter.
            first.ask_to_yield("a", reason="again")
            second.courtesy.clear(grant, grant.token - 1)
            assert _wish(first, "a") is not None
            assert grant.asked_to_yield.wait(WITHIN)
            grant.release()

    @needs("cells")
    def test_a_request_that_nobody_heard_is_cleared_by_the_next_who_listens(self, site: Site) -> None:
        with connect_to(site) as first, connect_to(site, label="second") as second:
            with first.lock("a"):
                second.ask_to_yield("a")
            assert _wish(second, "a") is not None
            with first.lock("a") as grant:
                assert not grant.asked_to_yield.is_set()

                def cleared() -> bool:
                    return _wish(second, "a") is None

                until(cleared)
                second.ask_to_yield("a")
                assert grant.asked_to_yield.wait(WITHIN)

    @needs("counted", "cells")
    def test_a_request_to_several_holders_stays_until_the_last_of_them_has_left(self, site: Site) -> None:
        with connect_to(site) as first, connect_to(site, label="second") as second:
            one = first.semaphore("a", limit=2).acquire()
            other = first.semaphore("a", limit=2).acquire()
            second.ask_to_yield("a")
            assert other.asked_to_yield.wait(WITHIN)
            other.release()
            assert _wish(second, "a") is not None
            # It has not looked before.
            assert one.asked_to_yield.wait(WITHIN)


def _wish(session: Session, name: str) -> str | None:
    """What the engine keeps of requests to yield the name."""
    return (cast(CellEngine, session.engine).cells.read(f"yield/{name}")).value
