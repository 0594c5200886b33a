"""The server that is measured: with Java's full compiler, and the disk out of the way, so that the clients show."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from fencepost.testing.condition import until
from fencepost.testing.zookeeper import ZookeeperServer

JAVA = ("-Xmx256m", "-XX:+UseSerialGC")
SETTINGS = {"tickTime": 1000}


@contextmanager
def serving() -> Iterator[ZookeeperServer]:
    with ZookeeperServer(java=JAVA, settings=SETTINGS) as server:
        until(lambda: server.mode, 30)
        yield server


@contextmanager
def placed(server: ZookeeperServer, client: int, other: int) -> Iterator[None]:
    """This process on one CPU and the server on another, or the same."""
    allowed = os.sched_getaffinity(0)
    _pin(server.pid, {other})
    os.sched_setaffinity(0, {client})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)
        _pin(server.pid, allowed)


def _pin(pid: int, cpus: set[int]) -> None:
    for thread in os.listdir(f"/proc/{pid}/task"):
        try:
            os.sched_setaffinity(int(thread), cpus)
        except ProcessLookupError:
            # It has ended since.
            pass
