"""A fence for what lives in this process: tests, caches, objects shared by threads."""

from collections.abc import Iterator
from contextlib import contextmanager

from fencepost._runtime.lock import RLock
from fencepost.core.name import check_name
from fencepost.fences.protocol import Tokened, check, token_of


class MemoryFence:
    """Marks in memory, for the threads of one process.

    One guard runs at a time, whatever its name, so that guards nest in any order without deadlock.

    Limits: the marks die with the process and are not shared with others. What the block has done is not
    undone if it raises: memory has no transactions. A task that awaits inside a guard lets other tasks of
    its thread in.
    """

    def __init__(self) -> None:
        # Re-entrant, or a guard inside a guard would wait for itself.
        self._lock = RLock()
        self._marks: dict[str, int] = {}

    def claim(self, name: str, grant: Tokened | int) -> None:
        with self.guard(name, grant):
            pass

    @contextmanager
    def guard(self, name: str, grant: Tokened | int) -> Iterator[None]:
        check_name(name)
        token = token_of(grant)
        with self._lock:
            self._marks[name] = check(name, token, self.highest(name))
            yield

    def highest(self, name: str) -> int:
        return self._marks.get(check_name(name), 0)
