# Written by hand; the blocking twin under _sync is generated from it.
"""Cells on etcd: a key each, whose revision is its version, and a watch stream of their own."""

from fencepost._runtime.clock import boottime
from fencepost._runtime.state import StateLock
from fencepost.contract.answer import Cell
from fencepost.drivers.etcd import answer
from fencepost.drivers.etcd import request as ask
from fencepost.drivers.etcd._async.client import AsyncClient
from fencepost.drivers.etcd.waiter import Waiter
from fencepost.drivers.etcd.wire import aio as wire
from fencepost.engines.etcd import key as keys
from fencepost.errors import Refused, Unavailable

EMPTY = Cell(None, 0)


class AsyncCells:
    def __init__(self, client: AsyncClient, prefix: str) -> None:
        self._client = client
        self._prefix = prefix
        self._watches: dict[int, Waiter] = {}
        self._lock = StateLock()
        self._ear = wire.Ear(self._hear, self._stir_all)
        self._closed = False

    async def read(self, key: str) -> Cell:
        found = await self._client.read(ask.select(keys.cell(self._prefix, key)))
        return _cell(found.pairs[0]) if found.pairs else EMPTY

    async def write(self, key: str, value: str | None, version: int) -> Cell | None:
        own = keys.cell(self._prefix, key)
        change = ask.delete(own) if value is None else ask.put(own, value.encode())
        outcome = await self._client.commit(ask.transaction([ask.modified_at(own, version)], [change]))
        if outcome is None or not outcome.succeeded:
            return None
        return EMPTY if value is None else Cell(value, outcome.revision)

    async def watch(self, key: str, version: int, timeout: float) -> Cell:
        until = boottime() + timeout
        own, waiter, numbers = keys.cell(self._prefix, key), Waiter(), list[int]()

        def words(number: int) -> bytes:
            numbers.append(number)
            with self._lock:
                self._watches[number] = waiter
            return ask.watch(number, own)

        try:
            # The watch is open before the cell is read, so that no change falls between.
            await self._ear.watch(words, self._client.link)
            await self._ear.wait(waiter, until)
            while True:
                waiter.stirred = False
                cell = await self.read(key)
                if cell.version != version or self._closed or boottime() >= until:
                    return cell
                if self._watches.get(numbers[0]) is not waiter:
                    raise Unavailable("the watch by which etcd tells of changes was ended")
                await self._ear.wait(waiter, until)
        finally:
            for number in numbers:
                await self._end(number, waiter)

    async def _end(self, number: int, waiter: Waiter) -> None:
        with self._lock:
            # On another stream the number is another's by now.
            if self._watches.get(number) is not waiter:
                return
            del self._watches[number]
        try:
            if self._ear.is_open:
                await self._ear.say(ask.unwatch(number), self._client.link)
        except Unavailable:
            # The stream is gone, and the watch with it.
            pass

    def close(self) -> None:
        self._closed = True
        self._stir_all()
        self._ear.close()

    def _hear(self, message: bytes) -> None:
        news = answer.news(message)
        with self._lock:
            # Of a watch that it has ended etcd tells no more.
            waiter = self._watches.get(news.watch) if news.ended is None else self._watches.pop(news.watch, None)
        if waiter is not None:
            waiter.stir()
        if news.created and news.ended is not None:
            # Not let in, as when the users have changed: the next one opens the stream, and says anew who we are.
            self._client.link.endpoints.token = None
            self._ear.close()

    def _stir_all(self) -> None:
        with self._lock:
            watches, self._watches = self._watches, {}
        for waiter in watches.values():
            waiter.stir()


def _cell(pair: answer.KeyValue) -> Cell:
    try:
        return Cell(pair.value.decode(), pair.modified)
    except UnicodeDecodeError:
        raise Refused(f"what stands in etcd under {pair.key!r} is not ours: remove it, or use another prefix") from None
