"""Results in this process, shared by its blocking and its asynchronous sessions."""

from fencepost._runtime.clock import boottime
from fencepost._runtime.state import StateLock
from fencepost.fences.protocol import check


class Shelf:
    """Results and marks by name. Nothing here waits for anything but a moment."""

    def __init__(self) -> None:
        self._lock = StateLock()
        self._marks: dict[str, int] = {}
        self._values: dict[str, tuple[str, float | None]] = {}

    def find(self, name: str) -> str | None:
        with self._lock:
            return self._find(name)

    def claim(self, name: str, token: int) -> str | None:
        with self._lock:
            self._marks[name] = check(name, token, self._marks.get(name, 0))
            return self._find(name)

    def keep(self, name: str, token: int, value: str, expires_in: float | None) -> None:
        with self._lock:
            self._marks[name] = check(name, token, self._marks.get(name, 0))
            self._values[name] = value, None if expires_in is None else boottime() + expires_in

    def _find(self, name: str) -> str | None:
        value, expires_at = self._values.get(name, (None, None))
        if expires_at is not None and boottime() >= expires_at:
            del self._values[name]
            return None
        return value


_shelves: dict[str, Shelf] = {}


def shelf_of(engine: str) -> Shelf:
    """The one that all sessions at the same `memory://` engine share."""
    return _shelves.setdefault(engine, Shelf())
