"""The server that is measured, and where it may run."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fencepost.testing.etcd import etcd_server, port_of
from fencepost.testing.server import ServerProcess


@contextmanager
def running(folder: Path | None) -> Iterator[ServerProcess]:
    """On a disk, where a write costs most of what a lock costs; with None in memory, where no disk is ever late."""
    with etcd_server(place=folder) as server:
        yield server


@contextmanager
def placed(server: ServerProcess, how: str) -> Iterator[None]:
    """Client and server on the `same` CPU, or `split` between two."""
    allowed = os.sched_getaffinity(0)
    ours, theirs = max(allowed), max(allowed) if how == "same" else min(allowed)
    _pin(server.pid, theirs)
    os.sched_setaffinity(0, {ours})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)
        for task in _tasks(server.pid):
            os.sched_setaffinity(task, allowed)


def _pin(pid: int, cpu: int) -> None:
    for task in _tasks(pid):
        os.sched_setaffinity(task, {cpu})


def _tasks(pid: int) -> list[int]:
    return [int(each.name) for each in Path(f"/proc/{pid}/task").iterdir()]


def place_of(server: ServerProcess) -> int:
    """Where a contestant finds it: its port."""
    return port_of(server)


def keep_alives(port: int) -> int:
    """How many keep-alives the server has had so far, as it counts them itself."""
    from urllib.request import urlopen

    with urlopen(f"http://127.0.0.1:{port}/metrics") as page:
        lines = page.read().decode().splitlines()
    wanted = [line for line in lines if line.startswith("grpc_server_started_total") and "LeaseKeepAlive" in line]
    return sum(int(float(line.split()[1])) for line in wanted)


def threads() -> int:
    return sum(thread.name.startswith("fencepost") for thread in threading.enumerate())
