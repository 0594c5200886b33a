"""Asking again for what was granted and taken away in part, on every engine that grants several names at once."""

from typing import cast

import pytest

from fencepost.contract import registry
from fencepost.core.claim import Mode
from fencepost.core.url import parse_url
from fencepost.testing.contract import SITES, Site
from fencepost.testing.life import EngineMachine
from fencepost.testing.machine import async_engine_machine, engine_machine

PATIENCE = 10.0
TOGETHER = [scheme for scheme in SITES if (traits := registry.engine(scheme).traits).together and traits.priority]


def _begins_again_behind_whoever_waits(life: EngineMachine) -> None:
    both = {"names": ["a", "b"], "mode": Mode.EXCLUSIVE, "limit": 1, "weight": 1}
    try:
        life.connect()
        life.claim(**both, number=0, priority=1, wait=False)
        life.evict(name="a")
        life.claim(**both, number=1, priority=0, wait=True)
        life.ask_again(which=1, wait=False)
        life.the_engine_agrees_with_the_model()
        assert [each.request.holder for each in life.model.holders("b")] == [life.holders[1]]
    finally:
        life.teardown()


@pytest.mark.parametrize("site", TOGETHER, indirect=True)
@pytest.mark.parametrize("flavour", ["blocking", "asynchronous"])
def test_one_that_lost_a_part_begins_again_behind_whoever_waits_for_the_rest(site: Site, flavour: str) -> None:
    address = parse_url(site.url)
    if flavour == "blocking":
        engine = registry.engine(address.scheme)
        machine = engine_machine(lambda _, clock: engine(address, clock=clock, patience=PATIENCE), virtual_time=False)
    else:
        other = registry.async_engine(address.scheme)
        machine = async_engine_machine(
            lambda _, clock: other(address, clock=clock, patience=PATIENCE), virtual_time=False
        )
    _begins_again_behind_whoever_waits(cast(EngineMachine, machine()))
