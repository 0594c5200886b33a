"""Keeps a command and its lock together: the lock for as long as the command, the command no longer than the lock."""

import signal
from typing import Protocol

from fencepost._runtime.clock import boottime
from fencepost.cli.child import Child
from fencepost.cli.grace import kill_at
from fencepost.cli.inbox import Inbox
from fencepost.cli.terminal import Terminal

NAP = 1.0
STEP = 0.01
# SIGKILL works at once, but for processes stuck in the kernel.
MOST_DYING = 5.0


class Held(Protocol):
    """What is asked of a grant here."""

    @property
    def held(self) -> bool: ...
    def remaining(self) -> float: ...


def supervise(
    child: Child, grant: Held, inbox: Inbox, terminal: Terminal, *, grace: float, proven_until: float
) -> bool:
    """Until the command has ended: True if it did so by itself, False if it was stopped because the lock was lost.

    `proven_until` is what was known before the command was started: we may have been paused since.
    """
    while True:
        # Before the look at the lease: we may be paused between the two.
        looked_at = boottime()
        if remaining := grant.remaining():
            proven_until = looked_at + remaining
        child.reap()
        if child.ended:
            return True
        if not grant.held:
            stop(child, inbox, kill_at(proven_until, boottime(), grace))
            return False
        for signum in inbox.take():
            child.send(signum)
        if child.stopped_by is not None:
            signum, child.stopped_by = child.stopped_by, None
            if terminal.stop_with(child.group, signum) and grant.held:
                child.send(signal.SIGCONT)
            continue
        inbox.wait(min(remaining, NAP))


def stop(child: Child, inbox: Inbox, deadline: float) -> None:
    """End the whole group: politely while there is time before `deadline`, then surely."""
    if boottime() < deadline:
        child.send(signal.SIGTERM)
        child.send(signal.SIGCONT)
        _wait(child, inbox, deadline)
    if not child.is_gone():
        child.send(signal.SIGKILL)
        _wait(child, inbox, boottime() + MOST_DYING)


def _wait(child: Child, inbox: Inbox, until: float) -> None:
    child.reap()
    while not child.is_gone() and (left := until - boottime()) > 0:
        # The end of a grandchild is not told to us.
        inbox.wait(min(left, STEP))
        child.reap()
