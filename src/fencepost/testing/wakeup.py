"""Waiting for an event that others set, or for a nudge, whichever comes first: what a virtual clock is made of.

A nudge wakes one waiter and leaves the event, and whoever else waits for it, alone. Events have no door for that,
so each flavour stands in its event's own line of waiters.
"""

import asyncio
import threading

from fencepost._runtime import aio, threads


class AsyncWakeup:
    __slots__ = ("_event", "_future", "_nudged")

    def __init__(self, event: aio.Event) -> None:
        self._event = event
        self._future: asyncio.Future[None] | None = None
        self._nudged = False

    async def wait(self) -> None:
        """Return when the event is set, or was already, or at a nudge, also an earlier one. May return too early."""
        if not self._nudged and not self._event.is_set():
            loop = asyncio.get_running_loop()
            self._future = loop.create_future()
            place = (loop, self._future)
            self._event._waiters.append(place)
            try:
                await self._future
            finally:
                self._event._waiters.remove(place)
                self._future = None
        self._nudged = False

    def nudge(self) -> None:
        self._nudged = True
        if self._future is not None and not self._future.done():
            self._future.set_result(None)


class Wakeup:
    __slots__ = ("_bell", "_event")

    def __init__(self, event: threads.Event) -> None:
        self._event = event
        self._bell = threading.Event()

    def wait(self) -> None:
        """Return when the event is set, or was already, or at a nudge, also an earlier one. May return too early."""
        self._event._sleepers.append(self)
        try:
            if not self._event.is_set():
                self._bell.wait()
        finally:
            self._bell.clear()
            self._event._sleepers.remove(self)

    def nudge(self) -> None:
        self._bell.set()

    # What an event calls for each of those who wait for it.
    release = nudge
