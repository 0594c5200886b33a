# Generated from src/fencepost/engines/postgresql/_async/cells.py by tools/unasync.py. Do not edit: run `make gen`.
"""Cells in a table of PostgreSQL; who watches is told by NOTIFY, like those who wait for a grant."""

import itertools
import random

from fencepost._runtime.clock import boottime
from fencepost.contract.answer import Cell
from fencepost.core.malformed import Malformed, decoder, is_integer, is_text, read_json
from fencepost.core.rate import Rate
from fencepost.engines.postgresql._sync.channel import Channel
from fencepost.engines.postgresql._sync.store import Store
from fencepost.engines.postgresql.query import real, whole
from fencepost.engines.postgresql.sql import statements
from fencepost.engines.postgresql.waiter import Waiter

# How a message that is about a cell begins, where others have the id of a holder.
ADDRESSEE = b"=:"
EMPTY = Cell(None, 0)
# How often to look where no message comes through: behind a pooler.
LOOK_AGAIN = (0.05, 0.1)
# PostgreSQL stores no NUL, so it is written as an escape, and so is the sign of one.
_ESCAPES = (("\\", "\\\\"), ("\0", "\\0"))


class Cells:
    """`prefix` is put before each key. Whoever makes the channel passes on to `hear` what is told on it."""

    def __init__(self, store: Store, channel: Channel, prefix: str = "") -> None:
        self._store = store
        self._channel = channel
        self._prefix = prefix
        self._sql = statements("statements", store.schema)
        self._watches: dict[int, Waiter] = {}
        self._numbers = itertools.count(1)

    def read(self, key: str) -> Cell:
        return _cell(self._store.value(self._sql["cell_read"], self._key(key)))

    def write(self, key: str, value: str | None, version: int) -> Cell | None:
        text = None if value is None else _pack(value)
        reply = self._store.value(self._sql["cell_write"], self._key(key), text, b"%d" % version)
        if reply is None:
            return None
        return EMPTY if value is None else Cell(value, whole(reply))

    def watch(self, key: str, version: int, timeout: float) -> Cell:
        until = boottime() + timeout
        self._channel.listen()
        number = next(self._numbers)
        waiter = self._watches[number] = Waiter()
        who = (self._key(key), b"%d" % version, self._channel.name.encode(), b"%d" % number)
        try:
            while True:
                left = until - boottime()
                cell = _cell(self._store.value(self._sql["cell_watch"], *who, b"%f" % max(0.0, left)))
                if cell.version != version or left <= 0 or waiter.over is not None:
                    return cell
                look_at = boottime() + random.uniform(*LOOK_AGAIN) if self._channel.ear.is_deaf else until
                self._channel.ear.wait(waiter, min(until, look_at))
                waiter.news = False
        finally:
            del self._watches[number]

    def meter(self, key: str, rate: Rate, weight: int) -> float:
        parameters = (self._key(key), repr(rate.interval).encode(), b"%d" % rate.burst, b"%d" % weight)
        return real(self._store.value(self._sql["meter"], *parameters))

    def hear(self, message: bytes) -> None:
        """If the message is about a cell, whoever watches that one is told."""
        if message.startswith(ADDRESSEE):
            waiter = self._watches.get(whole(message.split(b":")[1]))
            if waiter is not None:
                waiter.stir()

    def close(self) -> None:
        for waiter in list(self._watches.values()):
            waiter.stir(over="the session was closed")

    def _key(self, key: str) -> bytes:
        return _pack(self._prefix + key)


def _pack(text: str) -> bytes:
    for sign, escaped in _ESCAPES:
        text = text.replace(sign, escaped)
    return text.encode()


@decoder
def _cell(reply: bytes | None) -> Cell:
    if reply is None:
        return EMPTY
    value, version = read_json(reply)
    if not is_text(value) or not is_integer(version):
        raise Malformed("a cell without a value or a version")
    # Back to front: a sign that was doubled does not escape what follows it.
    parts = (part.replace("\\0", "\0") for part in value.split("\\\\"))
    return Cell("\\".join(parts), version)
