# Written by hand; the blocking twin under _sync is generated from it.
"""Cells on Consul: a key each, changed by its index, watched by blocking queries."""

from base64 import b64decode, b64encode

from fencepost._runtime.clock import boottime
from fencepost.contract.answer import Cell
from fencepost.engines.consul._async.store import AsyncStore
from fencepost.engines.consul.key import CELL, path_of
from fencepost.engines.consul.transaction import Conflict, Pair, change, one
from fencepost.engines.consul.wire import aio as wire
from fencepost.errors import Refused, Unavailable

EMPTY = Cell(None, 0)
# Marks a cell that holds nothing. Its key stays: only what is there can be waited for, and its index goes on.
NOTHING = 1


class AsyncCells:
    def __init__(self, store: AsyncStore, prefix: str) -> None:
        self._store = store
        self._prefix = prefix + CELL
        self._watches: set[wire.Watch] = set()
        self._closed = False

    async def read(self, key: str) -> Cell:
        return _cell(await self._pair(key))

    async def write(self, key: str, value: str | None, version: int) -> Cell | None:
        pair = await self._pair(key)
        if _cell(pair).version != version:
            return None
        after = await self._change(pair, value)
        return None if after is None else _cell(after)

    async def watch(self, key: str, version: int, timeout: float) -> Cell:
        until = boottime() + timeout
        watch = wire.Watch()
        self._watches.add(watch)
        try:
            while True:
                pair = await self._pair(key)
                left = until - boottime()
                if _cell(pair).version != version or left <= 0 or self._closed:
                    return _cell(pair)
                if not pair.modified:
                    await self._change(pair, None)
                    continue
                await self._store.watch(pair, until, watch, left)
        finally:
            self._watches.discard(watch)

    def close(self) -> None:
        self._closed = True
        for watch in list(self._watches):
            watch.interrupt()

    async def _pair(self, key: str) -> Pair:
        where = self._prefix + path_of(key)
        found = await self._store.transact([one(where)])
        if isinstance(found, Conflict):
            raise Unavailable(f"consul did not read: {'; '.join(found.reasons.values())}")
        return found[where]

    async def _change(self, pair: Pair, value: str | None) -> Pair | None:
        text = "" if value is None else b64encode(value.encode()).decode()
        found = await self._store.transact([change(pair.key, pair.modified, text, NOTHING if value is None else 0)])
        # What comes back of a change has no value.
        return None if isinstance(found, Conflict) else found[pair.key]._replace(value=text)


def _cell(pair: Pair) -> Cell:
    if not pair.modified or pair.flags == NOTHING:
        return EMPTY
    try:
        return Cell(b64decode(pair.value).decode(), pair.modified)
    except ValueError:
        raise Refused(f"'{pair.key}' in consul is not ours: remove it, or use another prefix") from None
