# Written by hand; the blocking twin under _sync is generated from it.
"""The part of virtual time that one session lives in: it can be stopped while time goes on for others."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from fencepost._runtime import aio as runtime
from fencepost.testing.wakeup import AsyncWakeup

if TYPE_CHECKING:
    from fencepost.testing._async.clock import AsyncVirtualClock

KEEPER = "fencepost-keeper-"


class AsyncLane:
    """A clock for one session. While it is stopped, nothing that waits on it wakes and no alarm on it rings."""

    def __init__(self, clock: "AsyncVirtualClock") -> None:
        self.started = runtime.Event()
        self.started.set()
        # Keepers that were started and have not come to wait for the first time.
        self.missing = 0
        self.now = clock.now
        self._clock = clock
        self._keepers: set[object] = set()

    @property
    def running(self) -> bool:
        return self.started.is_set()

    async def wait(self, event: runtime.Event, until: float) -> bool:
        flow = runtime.current_flow()
        if is_keeper(flow) and flow not in self._keepers:
            self._keepers.add(flow)
            self.missing = max(0, self.missing - 1)
        return await self._clock.wait_in(self, event, until)

    def alarm(self, at: float, callback: Callable[[], object]) -> runtime.Alarm:
        return self._clock.alarm_in(self, at, callback)


class AsyncSleeper:
    """A flow of control that waits for an event, and for a point in time."""

    __slots__ = ("_fired", "_wakeup", "at", "event", "lane")

    def __init__(self, lane: AsyncLane, event: runtime.Event, at: float) -> None:
        self.lane = lane
        self.event = event
        self.at = at
        self._fired = False
        self._wakeup = AsyncWakeup(event)

    def ready(self) -> bool:
        return self.lane.running and (self._fired or self.event.is_set())

    def fire(self) -> None:
        """Its time has come."""
        self._fired = True
        self._wakeup.nudge()

    async def sleep(self) -> None:
        while not self.ready():
            if self.lane.running:
                await self._wakeup.wait()
            else:
                await self.lane.started.wait()


class AsyncAlarm:
    __slots__ = ("_callback", "at", "lane")

    def __init__(self, lane: AsyncLane, at: float, callback: Callable[[], object]) -> None:
        self.lane = lane
        self.at = at
        self._callback: Callable[[], object] | None = callback

    def fire(self) -> None:
        callback, self._callback = self._callback, None
        if callback is not None:
            callback()

    def cancel(self) -> None:
        self._callback = None

    @property
    def over(self) -> bool:
        return self._callback is None


def is_keeper(flow: object) -> bool:
    """Whether this flow of control is a session's own, which always comes back to wait."""
    name = flow.get_name() if hasattr(flow, "get_name") else getattr(flow, "name", "")
    return str(name).startswith(KEEPER)


def has_ended(flow: object) -> bool:
    """Whether a task is done, or a thread no longer alive."""
    if hasattr(flow, "done"):
        return bool(flow.done())
    return hasattr(flow, "is_alive") and not flow.is_alive()
