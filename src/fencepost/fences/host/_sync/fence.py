# Generated from src/fencepost/fences/host/_async/fence.py by tools/unasync.py. Do not edit: run `make gen`.
"""The fence for what has no place of its own for a number: an appliance, a program, a service behind a gateway."""

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager

from fencepost._runtime import threads as runtime
from fencepost.core.backoff import backoff
from fencepost.core.name import check_name
from fencepost.fences.host import mark
from fencepost.fences.host.passage import Passage, check_platform
from fencepost.fences.private import check_path
from fencepost.fences.protocol import Tokened, token_of

FIRST, MOST = 0.0005, 0.02


class HostFence:
    """Marks in the file at `path`, for all processes of this host; a block runs for one token of a name at a time.

    The mark is on disk before the block runs. Guards of different names do not wait for one another. Whoever uses
    the resource must come through this host: a gateway, a worker, a driver.

    Limits. What a block has done is not undone if it raises. Whoever is stopped inside a block holds up the others of
    that name until it goes on or dies. A guard inside a guard of the same name waits for itself. Linux, local file
    systems. Two sidecars: the marks at `path` and the locks at `path`.lock; do not delete them.
    """

    def __init__(self, path: "str | os.PathLike[str]") -> None:
        check_platform()
        # One lock file, however the marks are reached.
        self._path = os.path.realpath(check_path(path))

    def claim(self, name: str, grant: Tokened | int) -> None:
        with self.guard(name, grant):
            pass

    @contextmanager
    def guard(self, name: str, grant: Tokened | int) -> "Iterator[None]":
        check_name(name)
        token = token_of(grant)
        passage = Passage(f"{self._path}.lock", name)
        try:
            attempt = 0
            # Not a call that blocks in the kernel: it would take a thread for each task that waits, and whoever is
            # inside may need one to come out again.
            while not passage.try_enter():
                runtime.sleep(backoff(attempt, random.random(), first=FIRST, most=MOST))
                attempt += 1
            runtime.in_thread(mark.raise_mark, self._path, name, token)
            yield
        finally:
            passage.leave()

    def highest(self, name: str) -> int:
        check_name(name)
        return runtime.in_thread(mark.highest, self._path, name)
