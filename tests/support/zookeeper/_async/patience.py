# Written by hand; the blocking twin under _sync is generated from it.
"""Waiting for what nothing announces, while our own sessions go on."""

from collections.abc import Callable

from fencepost._runtime import aio as runtime
from fencepost.testing.contract._async.attempt import until

LASTING = 60.0
# Of one whose lease ends in the test. A call has a third of it.
ENDING = 4.0
# For what comes within seconds, on a machine that is busy with something else.
PATIENCE = 90.0


async def so(condition: Callable[[], object], within: float = PATIENCE) -> None:
    async def met() -> bool:
        return bool(condition())

    await until(met, within)


async def apart(work: Callable[[], object]) -> None:
    """Do something that blocks for long."""
    await runtime.in_thread(work)
