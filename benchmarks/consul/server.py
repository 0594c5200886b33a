"""The agent that is measured: in memory, so that the disk of the machine is not what is compared."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from fencepost.testing.consul import Agent, settings


@contextmanager
def running() -> Iterator[Agent]:
    with Agent(settings()) as agent:
        yield agent


def settle_on(agent: Agent, cpu: int, *, same: bool) -> None:
    """Put every thread of the agent on the CPU that is measured on, or on all the others."""
    others = os.sched_getaffinity(os.getppid()) - {cpu} or {cpu}
    for thread in os.listdir(f"/proc/{agent.pid}/task"):
        os.sched_setaffinity(int(thread), {cpu} if same else others)
