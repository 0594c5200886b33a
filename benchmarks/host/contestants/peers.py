"""Other libraries for locks on one host, with their defaults. None of them has tokens."""

from pathlib import Path

import diskcache
import fasteners
import filelock
import portalocker

from benchmarks.contestant import Contestant


class FileLock(Contestant):
    name = "filelock"

    def __init__(self, folder: Path) -> None:
        self._lock = filelock.FileLock(folder / "filelock")

    def acquire(self) -> None:
        self._lock.acquire()

    def release(self) -> None:
        self._lock.release()


class Portalocker(Contestant):
    """Its default gives up after 5 s; with a longer time-out it polls every 0.25 s, as by default."""

    name = "portalocker"

    def __init__(self, folder: Path) -> None:
        self._lock = portalocker.Lock(folder / "portalocker", timeout=60)

    def acquire(self) -> None:
        self._lock.acquire()

    def release(self) -> None:
        self._lock.release()


class Fasteners(Contestant):
    name = "fasteners"

    def __init__(self, folder: Path) -> None:
        self._lock = fasteners.InterProcessLock(folder / "fasteners")

    def acquire(self) -> None:
        self._lock.acquire()

    def release(self) -> None:
        self._lock.release()


class DiskCache(Contestant):
    """Its documentation asks for a cache that evicts nothing."""

    name = "diskcache.Lock"

    def __init__(self, folder: Path) -> None:
        self._cache = diskcache.Cache(str(folder / "diskcache"), eviction_policy="none")
        self._lock = diskcache.Lock(self._cache, "lock")

    def acquire(self) -> None:
        self._lock.acquire()

    def release(self) -> None:
        self._lock.release()

    def close(self) -> None:
        self._cache.close()
