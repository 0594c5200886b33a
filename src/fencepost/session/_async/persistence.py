# Written by hand; the blocking twin under _sync is generated from it.
"""Asking an engine again that does not answer: how soon, and for how long."""

from typing import TYPE_CHECKING, TypeVar

from fencepost._runtime import aio as runtime
from fencepost.core.backoff import backoff
from fencepost.errors import Unavailable

if TYPE_CHECKING:
    from fencepost.session._async.presence import AsyncPresence

T = TypeVar("T")
LONGEST_SLEEP = 1.0


def pause(presence: "AsyncPresence", attempt: int) -> float:
    return backoff(attempt, presence.dice(), first=presence.terms.span / 60, most=presence.terms.span / 6)


async def sleep(presence: "AsyncPresence", until: float) -> None:
    """Until that instant of its clock. `SessionClosed` if it is closed meanwhile: heard of within a second."""
    clock = presence.clock
    while (now := clock.now()) < until:
        presence.check_open()
        await clock.wait(runtime.Event(), min(until, now + LONGEST_SLEEP))
    presence.check_open()


async def persistently(presence: "AsyncPresence", work: runtime.Work[T]) -> T:
    """What the work gives. It is asked for again while its caller has time, but no longer than for a lease's span."""
    now = presence.clock.now
    give_up_at: float | None = None
    attempt = 0
    while True:
        try:
            return await work()
        except Unavailable:
            failed_at = now()
            give_up_at = give_up_at or failed_at + presence.terms.span
            again_at = failed_at + pause(presence, attempt)
            attempt += 1
            if again_at >= give_up_at or again_at - failed_at >= runtime.time_left():
                raise
            await sleep(presence, again_at)
