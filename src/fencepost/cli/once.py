"""What is to be done once: begun here, or left because somebody has done it."""

from typing import TYPE_CHECKING

from fencepost.cli import say
from fencepost.errors import AcquireTimeout

if TYPE_CHECKING:
    from fencepost.cli.holding import Order
    from fencepost.core.job import Tick
    from fencepost.primitives._sync.job import Run
    from fencepost.primitives._sync.session import Session


def begin(order: "Order", session: "Session", tick: "Tick") -> "Run | None":
    """The run, ours to do. None, and said so, if it was done already, or for a tick if it is going on elsewhere."""
    job = session.job(order.name)
    scheduled = isinstance(tick, int)
    run = job.begin(tick, timeout=0.0 if scheduled or order.skip else order.timeout, again=not scheduled)
    if run is not None:
        return run
    last = job.last() if scheduled else job.last(tick)
    if last is not None and (scheduled or last.state == "done"):
        state = {"running": "is at it", "done": f"did it in {last.took:.1f} s", "failed": f"tried: {last.error}"}
        say.note(f"skipped '{order.name}': {last.holder} {state[last.state]} (token {last.token})")
        return None
    raise AcquireTimeout(f"'{order.name}' not begun in time: somebody else is at it")
