# Written by hand; the blocking twin under _sync is generated from it.
"""From an exclusive lock to a shared one, on the connection that has it."""

from fencepost.core.claim import Mode
from fencepost.engines.postgresql.advisory._async.usher import AsyncUsher
from fencepost.engines.postgresql.advisory.lease import Entry
from fencepost.engines.postgresql.query import value
from fencepost.engines.postgresql.wire import aio as wire


async def share(usher: AsyncUsher, entry: Entry[wire.Connection], key: bytes) -> bool:
    """Whether it is held, and shared now. Asked again after an answer that did not come, it does the rest."""
    if entry.ask.mode is Mode.SHARED:
        return True
    entry.sharing = True
    # Nobody comes in between: a connection that has a lock gets it in another mode without standing in the queue.
    held = value(await usher.call(entry.hold.connection, "share", key)) == b"t"
    entry.sharing = False
    if held:
        entry.ask = entry.ask._replace(mode=Mode.SHARED)
    return held
