"""What the figures were measured on, and the conditions they were measured under."""

import gc
import os
import platform
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version

PACKAGES = (
    "fencepost",
    "filelock",
    "portalocker",
    "fasteners",
    "diskcache",
    "redis",
    "python-redis-lock",
    "pottery",
    "redlock-py",
)


def facts() -> dict[str, str]:
    return {
        "cpus": str(os.cpu_count()),
        "load": f"{os.getloadavg()[0]:.2f} over the last minute, before the start",
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "sqlite": sqlite3.sqlite_version,
        "packages": ", ".join(f"{package} {version(package)}" for package in PACKAGES),
    }


@contextmanager
def pinned() -> Iterator[int]:
    """On one CPU, also for threads made inside: unpinned, a figure can swing twofold."""
    allowed = os.sched_getaffinity(0)
    cpu = max(allowed)
    os.sched_setaffinity(0, {cpu})
    try:
        yield cpu
    finally:
        os.sched_setaffinity(0, allowed)


@contextmanager
def without_collection() -> Iterator[None]:
    """No garbage collection inside, for anybody: it would hit whoever happens to run when it is due."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
