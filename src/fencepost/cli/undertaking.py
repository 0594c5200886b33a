"""A command under a lock, from the first fork to the last signal."""

import os
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING

from fencepost.cli import exit, say
from fencepost.cli.child import Child
from fencepost.cli.holding import Order, hold
from fencepost.cli.inbox import FORWARDED, Inbox
from fencepost.cli.interrupted import Interrupted
from fencepost.cli.sentinel import Sentinel

if TYPE_CHECKING:
    from fencepost.primitives._sync.acquirable import Acquirable
    from fencepost.primitives._sync.session import Session
    from fencepost.session._sync.grant import Grant


def undertake(order: Order, lock: "Callable[[Session], Acquirable[Grant]]", *, ttl: float, holder: str | None) -> int:
    """Connect, wait for the lock, run the command under it; the exit code."""
    from fencepost import connect
    from fencepost.core.url import masked

    # Both are forks, so they come before the session and its threads.
    # A signal that came meanwhile would be raised somewhere between them, or lost within a fork.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED)
    try:
        child = Child(order.command, os.environ, mask)
        sentinel = Sentinel(child.group, mask)
    except BaseException:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        raise
    try:
        with Inbox() as inbox:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            with exit.usage():
                session = connect(order.url, ttl=ttl, margin=order.plan.margin, holder=holder)
                if session.traits.scope == "process":
                    raise ValueError(
                        f"{masked(order.url)} is shared with no other process, so nothing would be protected"
                    )
            try:
                with exit.usage():
                    acquirable = lock(session)
                return hold(order, session, acquirable, inbox, child, sentinel)
            finally:
                inbox.collect()
                session.close()
    except Interrupted as error:
        say.note(f"stopped waiting for '{order.name}': {signal.Signals(error.signum).name}")
        return 128 + error.signum
    finally:
        sentinel.dismiss()
