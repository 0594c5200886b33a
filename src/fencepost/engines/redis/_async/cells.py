# Written by hand; the blocking twin under _sync is generated from it.
"""Cells on Redis: a hash each, and a set of those who watch it, who are told on the channel that tells of grants."""

import math
from zlib import crc32

from fencepost._runtime import aio as runtime
from fencepost._runtime.clock import boottime
from fencepost.contract.answer import Cell
from fencepost.core.rate import Rate
from fencepost.engines.redis._async.server import AsyncServer
from fencepost.engines.redis.key import SINGLE, shard_of, slot_of
from fencepost.engines.redis.resp import Reply
from fencepost.engines.redis.script import CELL_WATCH, CELL_WRITE, METER
from fencepost.engines.redis.waiter import Waiter
from fencepost.engines.redis.wire import aio as wire
from fencepost.errors import Refused

# How a message that is about a cell begins, where others have the id of a holder.
ADDRESSEE = "="
EMPTY = Cell(None, 0)


class AsyncCells:
    def __init__(self, server: AsyncServer, prefix: str, ear: wire.Ear, listen: runtime.Work[None]) -> None:
        self._server = server
        self._prefix = prefix
        self._ear = ear
        self._listen = listen
        # Each with the number of its cell.
        self._watches: dict[Waiter, int] = {}

    async def read(self, key: str) -> Cell:
        slot, keys = self._keys("cell", key)
        return _cell(await self._server.run(CELL_WATCH, CELL_WATCH.pack(keys, "-"), slot))

    async def write(self, key: str, value: str | None, version: int) -> Cell | None:
        slot, keys = self._keys("cell", key)
        arguments = [str(version)] if value is None else [str(version), value]
        reply = await self._server.run(CELL_WRITE, CELL_WRITE.pack(keys, *arguments), slot)
        if reply is None:
            return None
        return EMPTY if value is None else Cell(value, int(reply))

    async def watch(self, key: str, version: int, timeout: float) -> Cell:
        until = boottime() + timeout
        await self._listen()
        slot, keys = self._keys("cell", key)
        # The same for all who watch it here, now and later: a server has no more watchers of a cell than sessions.
        number = crc32(keys[0])
        waiter = Waiter()
        self._watches[waiter] = number
        me = f"{self._ear.channel}:{number}"
        try:
            while True:
                left = max(1, math.ceil((until - boottime()) * 1000))
                cell = _cell(await self._server.run(CELL_WATCH, CELL_WATCH.pack(keys, version, me, left), slot))
                if cell.version != version or boottime() >= until or waiter.over is not None:
                    return cell
                await self._ear.wait(waiter, until)
                waiter.stirred = False
        finally:
            del self._watches[waiter]

    async def meter(self, key: str, rate: Rate, weight: int) -> float:
        slot, keys = self._keys("meter", key)
        interval = format(rate.interval * 1e6, ".6f")
        wait: int = await self._server.run(METER, METER.pack(keys[:1], interval, rate.burst, weight), slot)
        return wait / 1e6

    def tell(self, number: int) -> None:
        """Somebody says that a cell has changed."""
        for waiter, watched in self._watches.copy().items():
            if watched == number:
                waiter.stir()

    def close(self) -> None:
        for waiter in list(self._watches):
            waiter.stir(over="the session was closed")

    def _keys(self, kind: str, key: str) -> tuple[int, list[bytes]]:
        """Its slot, its key, and that of those who watch it."""
        name = (self._prefix + key).encode()
        slot = slot_of(name) if self._server.clustered else 0
        prefix = (shard_of(slot) if self._server.clustered else SINGLE).prefix
        return slot, [prefix + kind.encode() + b"\0" + name, prefix + b"watch\0" + name]


def _cell(reply: Reply) -> Cell:
    if reply is None:
        return EMPTY
    try:
        return Cell(reply[1].decode(), int(reply[0]))
    except (ValueError, AttributeError):
        raise Refused("redis has something under a key of ours that we did not write: remove it") from None
