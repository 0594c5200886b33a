"""An event loop without real time and without fairness.

Its clock jumps to the next timer whenever nothing is ready, so that an hour takes no time. Of what is ready it picks
the next by a die, not in order of arrival: one seed is one schedule, and the same seed is the same schedule again, in
any process. Nothing here may block, open a socket or start a thread.
"""

import asyncio
import heapq
import math
import random
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context, ContextVar
from typing import Any

from fencepost._runtime import aio

START = 1000.0
# Far more than a schedule takes, and than anybody looks at the clock in one step: somebody turns in circles.
MOST_STEPS = 1_000_000
MOST_LOOKS = 10_000


class Process:
    """What runs and dies together, as a process would: everything that its first task started, directly or not.

    Stopped, it stands still as under SIGSTOP: whatever is to happen in it happens when it is started again. A process
    that is killed is one that stays stopped: nothing in it cleans up.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.running = True
        # Before that it could not do anything in time.
        self.back_at = START
        self._context = Context()
        self._context.run(_process.set, self)
        self._due: list[asyncio.Handle] = []
        self._loop = running()

    def run(self, work: Coroutine[Any, Any, Any]) -> "asyncio.Task[Any]":
        return self._loop.create_task(work, context=self._context)

    def stop(self) -> None:
        self.running = False

    def start(self) -> None:
        self.running = True
        self.back_at = self._loop.time()
        due, self._due = self._due, []
        self._loop.make_ready(due)

    def keep(self, handle: asyncio.Handle) -> None:
        """To be done once it is started."""
        self._due.append(handle)


_process: ContextVar[Process | None] = ContextVar("process", default=None)


class Standstill(AssertionError):
    """Somebody waits, and there is nothing left that could ever end it."""


class SimulatedLoop(asyncio.BaseEventLoop):
    _ready: deque[asyncio.Handle]
    _scheduled: list[asyncio.TimerHandle]

    def __init__(self, dice: random.Random) -> None:
        super().__init__()
        self._homes: dict[asyncio.Task[Any], Process | None] = {}
        self._steps = 0
        self._looks = 0
        self._random = dice.random
        self._now = START

    def time(self) -> float:
        return self._now

    def create_task(self, coro: Any, **options: Any) -> "asyncio.Task[Any]":
        task = super().create_task(coro, **options)
        context = options.get("context")
        self._homes[task] = _process.get() if context is None else context.get(_process)
        return task

    def unfinished(self) -> "dict[asyncio.Task[Any], Process | None]":
        """The tasks that have not ended, and where they run, in the order in which they were made."""
        return {task: home for task, home in self._homes.items() if not task.done()}

    def failures(self) -> list[BaseException]:
        """What tasks ended with, and nobody who waited for them took; asyncio would only log it."""
        done = (task for task in self._homes if task.done() and not task.cancelled())
        return [error for task in done if task._log_traceback and (error := task.exception())]

    def look(self) -> None:
        """Called by whoever waits on the clock, and may do so without end in a single step."""
        self._looks += 1
        if self._looks > MOST_LOOKS:
            raise Standstill("somebody waits again and again for what is over")

    def make_ready(self, handles: list[asyncio.Handle]) -> None:
        self._ready.extend(handles)

    # What the loop of asyncio calls by these names.

    def _run_once(self) -> None:
        self._steps += 1
        self._looks = 0
        if self._steps > MOST_STEPS:
            raise Standstill(f"no end after {MOST_STEPS:,} steps")
        ready, scheduled = self._ready, self._scheduled
        while scheduled and scheduled[0].cancelled():
            heapq.heappop(scheduled)
        if not ready:
            if not scheduled:
                raise Standstill("everybody waits, and nothing is left that could happen")
            self._now = max(self._now, scheduled[0].when())
        while scheduled and scheduled[0].when() <= self._now:
            ready.append(heapq.heappop(scheduled))
        if len(ready) > 1:
            chosen = int(self._random() * len(ready))
            ready[chosen], ready[-1] = ready[-1], ready[chosen]
        handle = ready.pop()
        if handle.cancelled():
            return
        process = handle._context.get(_process)  # type: ignore[attr-defined]
        if process is None or process.running:
            handle._run()
        else:
            process.keep(handle)

    def _write_to_self(self) -> None:
        """There is no other thread, so nobody to wake."""

    def _process_events(self, events: object) -> None:
        """There are no sockets."""


def running() -> SimulatedLoop:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SimulatedLoop)
    return loop


class LoopClock:
    """The time of the loop, for sessions and engines."""

    def __init__(self) -> None:
        self._loop = running()
        self.now = self._loop.time

    async def wait(self, event: aio.Event, until: float) -> bool:
        """True as soon as `event` is set, False once the clock shows `until`."""
        self._loop.look()
        while not event.is_set() and (left := until - self.now()) > 0:
            await event.wait(None if left == math.inf else left)
        return event.is_set()

    def alarm(self, at: float, callback: Callable[[], object]) -> aio.Alarm:
        return self._loop.call_at(at, callback)
