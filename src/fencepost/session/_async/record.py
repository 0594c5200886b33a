# Written by hand; the blocking twin under _sync is generated from it.
"""A small document that many sessions share and change one step at a time."""

import json
import math
import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from fencepost._runtime import aio as runtime
from fencepost.contract._async.cell import AsyncCellEngine, AsyncCells
from fencepost.contract.answer import Cell
from fencepost.core.backoff import backoff
from fencepost.core.deadline import Deadline
from fencepost.core.malformed import Malformed, are_texts, read_json
from fencepost.errors import EngineError, Refused, Unavailable, Uncertain, Unsupported
from fencepost.session._async.limit import AsyncCall
from fencepost.session._async.persistence import persistently, sleep

if TYPE_CHECKING:
    from fencepost.session._async.presence import AsyncPresence

Document = dict[str, Any]
# The document after the change; None if there is nothing to change. It may be asked again, of a newer document.
Decide = Callable[[Document], Document | None]
# Whether a document is one that we write: it comes from a store that others write to as well.
IsSound = Callable[[Document], bool]
# Whoever did not hear of its own change finds it by its stamp, unless that many others changed it since.
STAMPS = 32


class Seen(NamedTuple):
    document: Document
    version: int


class AsyncRecord:
    """What `change` does has happened exactly once when it returns, however many others change it meanwhile.

    What stands there and is not sound is `Refused`, and concerns nothing else.
    """

    def __init__(self, presence: "AsyncPresence", key: str, is_sound: IsSound = lambda _: True) -> None:
        if not presence.traits.cells:
            raise Unsupported("this engine keeps no shared values: see its trait 'cells'")
        self._presence = presence
        self._key = key
        self._is_sound = is_sound

    @property
    def _cells(self) -> AsyncCells:
        # Not kept: in the child of a fork the session has another engine.
        return cast(AsyncCellEngine, self._presence.engine).cells

    async def read(self) -> Seen:
        self._presence.check_open()
        async with AsyncCall(self._presence.clock, math.inf):
            return self._seen(await self._cells.read(self._key))

    async def next(self, version: int, timeout: float) -> Seen:
        """What it is once its version is not `version` any more, or after `timeout` seconds."""
        self._presence.check_open()
        async with AsyncCall(self._presence.clock, math.inf):
            return self._seen(await self._cells.watch(self._key, version, timeout))

    async def follow(self, version: int, timeout: float) -> Seen:
        """As `next`, but an engine that does not answer is asked again."""
        return await persistently(self._presence, lambda: self.next(version, timeout))

    async def empty(self, version: int) -> bool:
        """Leave nothing of it, unless it has changed since that version; whether it had not. Tried once."""
        self._presence.check_open()
        return await self._cells.write(self._key, None, version) is not None

    async def change(self, decide: Decide, *, known: Seen | None = None) -> Document:
        """The document after the change, or as it is if there was nothing to change.

        Whoever has just seen it says so (`known`), and it is not read again first.
        """
        now, dice, span = self._presence.clock.now, self._presence.dice, self._presence.terms.span
        deadline = Deadline.after(now(), span)
        stamp = secrets.token_hex(6)
        attempt = 0
        # The stamps that ours was put behind, while nobody knows whether it was.
        unsure: list[str] | None = None
        while True:
            try:
                seen, known = known or await self._read_again(unsure), None
                stamps = seen.document.get("stamps", [])
                if stamp in stamps:
                    return seen.document
                if unsure is not None and len(stamps) == STAMPS and not (unsure and unsure[-1] in stamps):
                    raise Uncertain(f"a change of '{self._key}' was sent, and too many came after it to know of it")
                document = decide(dict(seen.document))
                if document is None:
                    return seen.document
                text = json.dumps({**document, "stamps": [*stamps, stamp][-STAMPS:]}, separators=(",", ":"))
                unsure = stamps
                if await self._cells.write(self._key, text, seen.version) is not None:
                    return document
                unsure = None
                # Somebody else was faster, so something has happened: that alone is no reason to give up.
                deadline = Deadline.after(now(), span)
            except Unavailable as error:
                if deadline.passed(now()) or runtime.time_left() <= 0:
                    if unsure is not None:
                        raise self._not_confirmed(error) from error
                    raise
            pause = backoff(attempt, dice(), first=0.001, most=span / 10)
            attempt += 1
            pause = min(pause, runtime.time_left())
            await sleep(self._presence, min(now() + pause, deadline.at))

    async def _read_again(self, unsure: list[str] | None) -> Seen:
        try:
            return await self.read()
        except Refused as error:
            if unsure is not None:
                raise self._not_confirmed(error) from error
            raise

    def _not_confirmed(self, error: EngineError) -> Uncertain:
        return Uncertain(f"a change of '{self._key}' was sent, and not confirmed: {error}")

    def _seen(self, cell: Cell) -> Seen:
        if cell.value is None:
            return Seen({}, cell.version)
        try:
            document = read_json(cell.value)
        except Malformed:
            document = None
        if not (isinstance(document, dict) and are_texts(document.get("stamps", [])) and self._is_sound(document)):
            raise Refused(f"what is kept as '{self._key}' was not written by fencepost: remove it, or use another name")
        return Seen(document, cell.version)
