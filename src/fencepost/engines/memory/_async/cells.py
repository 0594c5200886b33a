# Written by hand; the blocking twin under _sync is generated from it.
"""Cells in the book of a process."""

from fencepost._runtime import aio as runtime
from fencepost.contract.answer import Cell
from fencepost.engines.memory.book import Book


class AsyncCells:
    def __init__(self, book: Book, clock: runtime.Clock) -> None:
        self._book = book
        self._clock = clock

    async def read(self, key: str) -> Cell:
        return self._book.do(self._book.cells.read, key)

    async def write(self, key: str, value: str | None, version: int) -> Cell | None:
        return self._book.do(self._book.cells.write, key, value, version)

    async def watch(self, key: str, version: int, timeout: float) -> Cell:
        until = self._clock.now() + timeout
        woken = runtime.Event()
        self._book.do(self._book.cells.watch, key, woken.set)
        try:
            while True:
                cell = self._book.do(self._book.cells.read, key)
                if cell.version != version or self._clock.now() >= until:
                    return cell
                await self._clock.wait(woken, until)
                woken.clear()
        finally:
            self._book.do(self._book.cells.unwatch, key, woken.set)
