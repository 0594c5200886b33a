"""A random life of the engine on a real agent, compared with the model after every step."""

from hypothesis import Phase, settings

from fencepost.contract import registry
from fencepost.core.url import Url, parse_url
from fencepost.testing.consul import shared_agent
from fencepost.testing.machine import async_engine_machine, engine_machine

# Each step is some ten transactions.
STEPS = settings(max_examples=150, stateful_step_count=40, phases=[Phase.generate], derandomize=False, deadline=None)


def address(store: str) -> Url:
    return parse_url(f"consul://127.0.0.1:{shared_agent().port}?prefix={store}/")


machine = engine_machine(
    lambda store, clock: registry.engine("consul")(address(store), clock=clock, patience=10), virtual_time=False
)
async_machine = async_engine_machine(
    lambda store, clock: registry.async_engine("consul")(address(store), clock=clock, patience=10), virtual_time=False
)


class TestMachine(machine.TestCase):  # type: ignore[name-defined, misc]
    settings = STEPS


class TestAsyncMachine(async_machine.TestCase):  # type: ignore[name-defined, misc]
    settings = STEPS
