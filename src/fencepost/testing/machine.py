"""A random life of an engine, compared with the model after every step. Needs hypothesis.

    machine = engine_machine(lambda store, clock: MyEngine(parse_url(f"my://{store}"), clock=clock, patience=5))
    TestMyEngine = machine.TestCase

Several holders, each with a connection of its own to one store, ask for several names in every mode, wait, ask
again, withdraw, release, are evicted, renew, close, or are not heard of any more until their lease ends.

A run that met too little of this to prove anything fails, and says what it met: give it more examples or steps
(`TestMyEngine.settings`). `run_engine_machine` runs a machine without a `TestCase`.

It is for engines that serve in order of arrival (and of priority, where they can) and take their time from the clock
they are given; for an engine with a clock of its own pass `virtual_time=False`, and no lease ends while it is watched.
"""

import unittest
from collections import Counter
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from fencepost._runtime import aio, threads
from fencepost.contract._async.engine import AsyncEngine
from fencepost.contract._sync.engine import Engine
from fencepost.testing._async.clock import AsyncVirtualClock
from fencepost.testing._sync.clock import VirtualClock
from fencepost.testing.life import EngineMachine

# What a run has to meet, and how often at the least, before its silence means anything.
LEAST = {"granted": 10, "queued": 10, "handed over": 2}


def engine_machine(
    make: Callable[[str, threads.Clock], Engine], *, virtual_time: bool = True
) -> type[RuleBasedStateMachine]:
    """A state machine for the engines that `make(store, clock)` connects to the store of that name."""
    return _machine(make, VirtualClock if virtual_time else threads.BootClock)


def async_engine_machine(
    make: Callable[[str, aio.Clock], AsyncEngine], *, virtual_time: bool = True
) -> type[RuleBasedStateMachine]:
    """The same for the asynchronous flavour, run on an event loop of its own."""
    return _machine(make, AsyncVirtualClock if virtual_time else aio.BootClock)


def run_engine_machine(machine: type[RuleBasedStateMachine], *, settings: settings | None = None) -> None:
    """Run the machine, print what it met, and fail if that was too little."""
    assert issubclass(machine, EngineMachine), "made by engine_machine or async_engine_machine"
    machine.met.clear()
    run_state_machine_as_test(machine, settings=settings)
    print("met", ", ".join(f"{count} {what}" for what, count in machine.met.most_common()))
    rare = [f"{machine.met[what]} of {least} {what}" for what, least in LEAST.items() if machine.met[what] < least]
    if rare:
        raise AssertionError(f"too little was met to prove anything: {', '.join(rare)}; give it more examples or steps")


def _machine(make: Callable[[str, Any], Any], clock: Callable[[], Any]) -> type[RuleBasedStateMachine]:
    machine: Any = type("Machine", (EngineMachine,), {"make": staticmethod(make), "new_clock": clock, "met": Counter()})

    class TestCase(unittest.TestCase):
        settings = settings(deadline=None, suppress_health_check=list(HealthCheck))

        def runTest(self) -> None:  # noqa: N802
            run_engine_machine(machine, settings=self.settings)

        # So that hypothesis' plugin for pytest knows it for one of its own.
        runTest.is_hypothesis_test = True  # type: ignore[attr-defined]

    machine.TestCase = TestCase
    return machine  # type: ignore[no-any-return]
