# Written by hand; the blocking twin under _sync is generated from it.
"""A clock that moves only when it is told to.

Time is moved from one thing due to the next, in order. After each, whoever was woken runs until it waits on this
clock again, or has ended, and only then does time move on: a session's keeper renews its lease in virtual time
exactly as it would in real time, however slow the machine is.
"""

import heapq
import itertools
from collections.abc import Callable

from fencepost._runtime import aio as runtime
from fencepost._runtime.clock import boottime
from fencepost._runtime.state import StateLock
from fencepost.core.duration import check_seconds
from fencepost.testing._async.lane import AsyncAlarm, AsyncLane, AsyncSleeper, has_ended, is_keeper

START = 1000.0
# How often others get their turn after each step, so that what is not waiting on the clock sees it happen too.
TURNS = 10
LOOK_AGAIN = 0.001

Item = AsyncSleeper | AsyncAlarm


class AsyncVirtualClock:
    """Time for sessions under test: pass it to them as `clock`.

    Whoever first calls `advance`, or is named as `home`, is the test itself. When the test waits on this clock, by a
    lock it acquires with a time-out, nobody else could move time, so time moves by itself up to that time-out.

    A keeper that does not come back within `patience` real seconds is an error. Other code that was woken, and then
    waits for something else than this clock, is waited for no longer than `grace` real seconds.
    """

    def __init__(self, *, grace: float = 0.2, patience: float = 10.0) -> None:
        self.home: object = None
        self._now = START
        self._grace = check_seconds(grace, "grace")
        self._patience = check_seconds(patience, "patience")
        self._lane = AsyncLane(self)
        self._lanes = [self._lane]
        self._lock = StateLock()
        self._order = itertools.count()
        self._due: list[tuple[float, int, Item]] = []
        self._sleepers: set[AsyncSleeper] = set()
        # Those who were woken and have not waited again yet.
        self._awake: set[object] = set()
        self._changed = runtime.Event()

    def now(self) -> float:
        return self._now

    async def wait(self, event: runtime.Event, until: float) -> bool:
        """True as soon as `event` is set, False once this clock shows `until`."""
        return await self._lane.wait(event, until)

    def alarm(self, at: float, callback: Callable[[], object]) -> runtime.Alarm:
        """Call back when time is moved to `at`, in the flow of control that moves it."""
        return self._lane.alarm(at, callback)

    async def advance(self, seconds: float) -> None:
        """Let that much time pass, with all that happens in it."""
        until = self._now + check_seconds(seconds, "seconds")
        if self.home is None:
            self.home = runtime.current_flow()
        await self.settle()
        while await self._step(until):
            pass

    async def settle(self) -> None:
        """Let everyone who is awake run until they wait again. No time passes."""
        for _ in range(TURNS):
            await runtime.sleep(0)
        flow = runtime.current_flow()
        began_at = boottime()
        while True:
            self._changed.clear()
            with self._lock:
                self._awake = {each for each in self._awake if each is not flow and not has_ended(each)}
                if boottime() - began_at > self._grace:
                    self._awake = {each for each in self._awake if is_keeper(each)}
                busy = self._awake or any(sleeper.ready() for sleeper in self._sleepers)
            if not busy and not any(lane.missing and lane.running for lane in self._lanes):
                return
            if boottime() - began_at > self._patience:
                raise RuntimeError(f"time can not move: what it woke did not wait again in {self._patience:g} s")
            await self._changed.wait(LOOK_AGAIN)

    # One session's part of time

    def lane(self) -> AsyncLane:
        """A clock that shows this one's time, and can be stopped and started by itself."""
        lane = AsyncLane(self)
        self._lanes.append(lane)
        return lane

    async def start(self, lane: AsyncLane) -> None:
        """End the stop of a lane: what came due meanwhile happens now."""
        lane.started.set()
        while await self._step(self._now):
            pass
        await self.settle()

    async def wait_in(self, lane: AsyncLane, event: runtime.Event, until: float) -> bool:
        if lane.running and (event.is_set() or self._now >= until):
            return event.is_set()
        flow = runtime.current_flow()
        if flow is self.home and not lane.running:
            raise RuntimeError("this session is paused, and so is whoever calls it: call it from a task of its own")
        if flow is self.home and until < float("inf"):
            return await self._pass_time(event, until)
        sleeper = AsyncSleeper(lane, event, until)
        with self._lock:
            heapq.heappush(self._due, (until, next(self._order), sleeper))
            self._sleepers.add(sleeper)
            self._awake.discard(flow)
        self._changed.set()
        try:
            await sleeper.sleep()
            return event.is_set()
        finally:
            with self._lock:
                self._sleepers.discard(sleeper)
                self._awake.add(flow)

    def alarm_in(self, lane: AsyncLane, at: float, callback: Callable[[], object]) -> runtime.Alarm:
        alarm = AsyncAlarm(lane, at, callback)
        with self._lock:
            heapq.heappush(self._due, (at, next(self._order), alarm))
        return alarm

    async def _pass_time(self, event: runtime.Event, until: float) -> bool:
        """The test itself waits: move time until what it waits for has happened, or its time is over."""
        await self.settle()
        while not event.is_set() and await self._step(until):
            pass
        return event.is_set()

    async def _step(self, until: float) -> bool:
        """Move to the next thing due and let it have its effect, or to `until`; whether there was something due."""
        with self._lock:
            item = self._take(until)
            self._now = max(self._now, until if item is None else item.at)
        if item is None:
            return False
        item.fire()
        await self.settle()
        return True

    def _take(self, until: float) -> Item | None:
        """The first thing due by then that can happen; those of stopped lanes stay."""
        stopped = []
        found = None
        while found is None and self._due and self._due[0][0] <= until:
            entry = heapq.heappop(self._due)
            item = entry[2]
            if item.over if isinstance(item, AsyncAlarm) else item not in self._sleepers:
                continue
            if item.lane.running:
                found = item
            else:
                stopped.append(entry)
        for entry in stopped:
            heapq.heappush(self._due, entry)
        return found
