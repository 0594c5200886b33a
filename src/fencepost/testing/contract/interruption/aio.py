"""Cancel a coroutine at its n-th suspension."""

import asyncio
import itertools
import random
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import Any, TypeAlias

from fencepost.errors import EngineError
from fencepost.testing.contract.interruption import point
from fencepost.testing.contract.interruption.point import KINDS

Interruption = asyncio.CancelledError
Interrupted: TypeAlias = Callable[[Callable[[], Coroutine[Any, Any, object]]], Awaitable[str | None]]
# Longer than anything takes on a busy machine.
ENDED_WITHIN = 60.0
# What is raised in a callback may cost a task the answer that it waits for.
LOSES_ANSWERS = True
_spared: ContextVar[bool] = ContextVar("spared", default=False)


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


def steps(dice: random.Random) -> Iterator[int]:
    """Every one of them."""
    return itertools.count()


async def interrupt_at(step: int, work: Callable[[], Coroutine[Any, Any, object]]) -> str | None:
    """Run `work`, cancelled at its `step`-th suspension: where that was, or None if it ended before."""
    run = _CancelAt(work(), step)
    try:
        await run
    except asyncio.CancelledError:
        if not run.reached:
            raise
    return f"suspension {step}" if run.reached else None


async def every_step(work: Callable[[], Coroutine[Any, Any, object]], check: Callable[[str], Awaitable[None]]) -> int:
    """Interrupt `work` at step 0, 1, 2, … until it has no more steps, checking after each. How many there were."""
    step = 0
    while where := await interrupt_at(step, work):
        await check(where)
        step += 1
    return step


class Points(point.Points):
    """Those of ours, in tasks and in callbacks of the loop. What a handler does to the loop itself is not for us.

    The start of a callback is the loop's, too: what it was to do is not done then, and nobody hears of it.
    """

    def wants(self, frame: FrameType, what: str) -> bool:
        if _spared.get() or not frame.f_globals.get("__name__", "").startswith("fencepost."):
            return False
        caller = frame.f_back
        by_loop = caller is None or caller.f_globals.get("__name__", "").startswith("asyncio.")
        return not (by_loop and what.startswith("call "))

    async def strike(self, work: Callable[[], Coroutine[Any, Any, object]]) -> str | None:
        """Do the work. What is raised at the point comes out of it, or an answer is lost by that."""
        with self:
            task = asyncio.ensure_future(work())
            ended, _ = await asyncio.wait([task], timeout=ENDED_WITHIN)
        assert ended, f"stuck after {self.where}"
        try:
            task.result()
        except (*KINDS, EngineError):
            if self.where is None:
                raise
        return self.where


@contextmanager
def bystander() -> Iterator[None]:
    """What is begun inside is not interrupted."""
    before = _spared.set(True)
    try:
        yield
    finally:
        _spared.reset(before)


@contextmanager
def reported() -> Iterator[list[str]]:
    """Exceptions that went nowhere, and are not of ours."""
    found: list[str] = []
    loop = asyncio.get_running_loop()
    before = loop.get_exception_handler()

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if not isinstance(context.get("exception"), (*KINDS, EngineError)):
            found.append(f"{context['message']}: {context.get('exception')!r}")

    loop.set_exception_handler(handle)
    try:
        yield found
    finally:
        loop.set_exception_handler(before)
