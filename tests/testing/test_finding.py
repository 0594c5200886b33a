"""What the state machine found, each told once and plainly, for every engine that needs no server."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fencepost._runtime.threads import BootClock
from fencepost.contract import registry
from fencepost.contract.answer import Granted, Queued
from fencepost.core.claim import Ask, Claim, Mode, Request
from fencepost.core.holder import Holder
from fencepost.core.url import parse_url

HOLDER = Holder("0123456789", "holder")


@pytest.fixture(params=[pytest.param("memory", marks=pytest.mark.unit), "sqlite"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    scheme = request.param
    address = f"sqlite://{tmp_path / 'locks.db'}" if scheme == "sqlite" else f"memory://{tmp_path.name}"
    engine = registry.engine(scheme)(parse_url(address), clock=BootClock(), patience=5)
    engine.lease_open(HOLDER, 60)
    yield engine
    engine.lease_close(HOLDER)
    engine.close()


def test_a_grant_of_several_names_lets_those_behind_it_on_the_others_through(engine: Any) -> None:
    first = Request(HOLDER, 1, (Ask("b"),))
    both = Request(HOLDER, 2, (Ask("a", Mode.SHARED), Ask("b", Mode.SHARED)))
    behind = Request(HOLDER, 3, (Ask("a", Mode.SHARED),))
    held = engine.claim(first, wait=True)
    assert isinstance(engine.claim(both, wait=True), Queued)
    assert isinstance(engine.claim(behind, wait=True), Queued)
    engine.release(Claim(HOLDER, 1, first.asks[0], held.tokens[0]))
    assert [standing.claim.serial for standing in engine.look("a").holders] == [2, 3]


def test_a_request_that_is_evicted_in_part_before_it_hears_of_its_grant_starts_again(engine: Any) -> None:
    first = Request(HOLDER, 1, (Ask("a"),))
    both = Request(HOLDER, 2, (Ask("a"), Ask("b")))
    engine.claim(first, wait=True)
    place = engine.claim(both, wait=True)
    assert isinstance(place, Queued)
    engine.evict("a", "operator")
    granted = {engine.look(name).holders[0].claim.token for name in ("a", "b")}
    engine.evict("a", "operator")
    answer = engine.wait(place, 0.0)
    assert isinstance(answer, Granted)
    # Either the news of the first grant, of which its holder will hear the end at its next renewal, or a new one.
    assert set(answer.tokens) == granted or granted.isdisjoint(answer.tokens)


def test_a_waiter_that_is_evicted_before_it_hears_of_its_grant_keeps_its_lease(engine: Any) -> None:
    engine.claim(Request(HOLDER, 1, (Ask("a"),)), wait=True)
    kept = engine.claim(Request(HOLDER, 2, (Ask("b"),)), wait=True)
    place = engine.claim(Request(HOLDER, 3, (Ask("a"),)), wait=True)
    engine.evict("a", "operator")
    engine.evict("a", "operator")
    assert isinstance(engine.wait(place, 0.0), Granted)
    assert engine.look("b").holders[0].claim.token == kept.tokens[0]
