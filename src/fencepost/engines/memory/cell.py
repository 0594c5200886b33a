"""Small values by key, and who wants to know when one changes. Callers hold the book's lock."""

from collections.abc import Callable

from fencepost.contract.answer import Cell

EMPTY = Cell(None, 0)
Wake = Callable[[], object]


class Cells:
    def __init__(self) -> None:
        self._cells: dict[str, Cell] = {}
        self._watchers: dict[str, list[Wake]] = {}
        self._last_version = 0

    def read(self, key: str) -> Cell:
        return self._cells.get(key, EMPTY)

    def write(self, key: str, value: str | None, version: int) -> Cell | None:
        if self.read(key).version != version:
            return None
        if value is None:
            self._cells.pop(key, None)
            cell = EMPTY
        else:
            self._last_version += 1
            cell = self._cells[key] = Cell(value, self._last_version)
        for wake in self._watchers.get(key, ()):
            wake()
        return cell

    def wake_all(self) -> None:
        for wakes in list(self._watchers.values()):
            for wake in list(wakes):
                wake()

    def watch(self, key: str, wake: Wake) -> None:
        self._watchers.setdefault(key, []).append(wake)

    def unwatch(self, key: str, wake: Wake) -> None:
        watchers = self._watchers[key]
        watchers.remove(wake)
        if not watchers:
            del self._watchers[key]
