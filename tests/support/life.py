"""Random lives of an engine on a real server, in both flavours, compared with the model after every step."""

from collections.abc import Callable
from functools import cache
from unittest import TestCase

import pytest
from hypothesis import HealthCheck, Phase, settings

from fencepost.contract import registry
from fencepost.core.url import Url, parse_url
from fencepost.testing.machine import async_engine_machine, engine_machine

# Longer than a busy machine keeps a server from answering: no step is asked twice.
PATIENCE = 60.0
# A real server is slower than a generator of examples expects.
SLOW = list(HealthCheck)


def lives(scheme: str, url: Callable[[str], str], *, examples: int, steps: int = 30) -> tuple[type[TestCase], ...]:
    """The tests of the blocking and the asynchronous engine. `url` names an empty store, and is asked once for each."""

    @cache
    def address(store: str) -> Url:
        return parse_url(url(store))

    blocking = engine_machine(
        lambda store, clock: registry.engine(scheme)(address(store), clock=clock, patience=PATIENCE),
        virtual_time=False,
    )
    asynchronous = async_engine_machine(
        lambda store, clock: registry.async_engine(scheme)(address(store), clock=clock, patience=PATIENCE),
        virtual_time=False,
    )
    for machine in (blocking, asynchronous):
        machine.TestCase.settings = settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=SLOW,
            # On a real server a smaller example takes minutes to find.
            phases=[Phase.generate],
        )
        machine.TestCase.pytestmark = [pytest.mark.slow, pytest.mark.storm]  # type: ignore[attr-defined]
    return blocking.TestCase, asynchronous.TestCase
