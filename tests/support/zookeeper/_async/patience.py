# Written by hand; the blocking twin under _sync is generated from it.
"""Waiting for what nothing announces, while our own sessions go on."""

from collections.abc import Callable

from fencepost._runtime import aio as runtime
from fencepost.testing.contract._async.attempt import until


async def so(condition: Callable[[], object], within: float = 20.0) -> None:
    async def met() -> bool:
        return bool(condition())

    await until(met, within)


async def apart(work: Callable[[], object]) -> None:
    """Do something that blocks for long."""
    await runtime.in_thread(work)
