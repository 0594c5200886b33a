"""Waiting for an event that others set, or for a nudge, whichever comes first: what a virtual clock is made of.

A nudge wakes one waiter and leaves the event, and whoever else waits for it, alone. Events have no door for that,
so each flavour stands in its event's own line of waiters.
"""

import asyncio
import threading
from typing import Any

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
        condition: Any = self._event._cond  # type: ignore[attr-defined]
        with condition:
            if self._event.is_set():
                return
            condition._waiters.append(self)
        try:
            self._bell.wait()
        finally:
            self._bell.clear()
            with condition:
                if self in condition._waiters:
                    condition._waiters.remove(self)

    def nudge(self) -> None:
        self._bell.set()

    # What a condition calls on each of its waiters.
    release = nudge
