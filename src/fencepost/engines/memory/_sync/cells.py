# Generated from src/fencepost/engines/memory/_async/cells.py by tools/unasync.py. Do not edit: run `make gen`.
"""Cells in the book of a process."""

from fencepost._runtime import threads as runtime
from fencepost.contract.answer import Cell
from fencepost.engines.memory.book import Book


class Cells:
    def __init__(self, book: Book, clock: runtime.Clock) -> None:
        self._book = book
        self._clock = clock

    def read(self, key: str) -> Cell:
        return self._book.do(self._book.cells.read, key)

    def write(self, key: str, value: str | None, version: int) -> Cell | None:
        return self._book.do(self._book.cells.write, key, value, version)

    def watch(self, key: str, version: int, timeout: float) -> Cell:
        until = self._clock.now() + timeout
        woken = runtime.Event()
        self._book.do(self._book.cells.watch, key, woken.set)
        try:
            while True:
                cell = self._book.do(self._book.cells.read, key)
                if cell.version != version or self._clock.now() >= until:
                    return cell
                self._clock.wait(woken, until)
                woken.clear()
        finally:
            self._book.do(self._book.cells.unwatch, key, woken.set)
