"""Cancel a coroutine at its n-th suspension."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any

Interruption = asyncio.CancelledError


class _CancelAt:
    """Awaits a coroutine and throws the cancellation in when it suspends for the `step`-th time."""

    def __init__(self, work: Coroutine[Any, Any, object], step: int) -> None:
        self._work = work
        self._step = step
        self.reached = False

    def __await__(self) -> Generator[Any, Any, object]:
        suspended = 0
        value: Any = None
        throw: BaseException | None = None
        while True:
            try:
                future = self._work.throw(throw) if throw is not None else self._work.send(value)
            except StopIteration as done:
                return done.value
            throw = value = None
            if suspended == self._step:
                self.reached = True
                if asyncio.isfuture(future):
                    future.cancel()
                throw = asyncio.CancelledError()
                suspended += 1
                continue
            suspended += 1
            try:
                value = yield future
            except BaseException as error:
                throw = error


async def interrupt_at(step: int, work: Callable[[], Coroutine[Any, Any, object]]) -> bool:
    """Run `work`, cancelled at its `step`-th suspension. False if it ended before getting there."""
    run = _CancelAt(work(), step)
    try:
        await run
    except asyncio.CancelledError:
        if not run.reached:
            raise
    return run.reached


async def every_step(work: Callable[[], Coroutine[Any, Any, object]], check: Callable[[str], Awaitable[None]]) -> int:
    """Interrupt `work` at step 0, 1, 2, … until it has no more steps, checking after each. How many there were."""
    step = 0
    while await interrupt_at(step, work):
        await check(f"suspension {step}")
        step += 1
    return step
