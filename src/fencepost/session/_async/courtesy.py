# Written by hand; the blocking twin under _sync is generated from it.
"""Polite requests: whoever wants a lock asks its holder to let go, and the holder may."""

from typing import TYPE_CHECKING

from fencepost._runtime import aio as runtime
from fencepost.core import event
from fencepost.errors import FencepostError
from fencepost.session._async.record import AsyncRecord

if TYPE_CHECKING:
    from fencepost.session._async.grant import AsyncGrant
    from fencepost.session._async.presence import AsyncPresence


class AsyncCourtesy:
    """A request names the highest token it means, so that it does not reach whoever holds the name next."""

    def __init__(self, presence: "AsyncPresence") -> None:
        self._presence = presence

    async def ask(self, name: str, reason: str) -> bool:
        """Ask whoever holds the name now; whether anybody does."""
        tokens = [standing.claim.token or 0 for standing in (await self._presence.look(name)).holders]
        if tokens:
            wish = {"token": max(tokens), "by": self._presence.label, "reason": reason}
            await self._record(name).change(lambda document: wish if document.get("token", 0) < wish["token"] else None)
        return bool(tokens)

    def listen(self, grant: "AsyncGrant") -> runtime.Event:
        """Set once somebody asks for what the grant holds."""
        record, asked = self._record(grant.name), runtime.Event()

        async def listen() -> None:
            version = -1
            while grant.held and not asked.is_set():
                try:
                    seen = await record.next(version, self._presence.terms.span)
                except FencepostError:
                    # The keeper tells of trouble with the engine; a wish is not worth more than that.
                    await self._presence.clock.wait(grant.lost, self._presence.clock.now() + 1.0)
                    continue
                version = seen.version
                if grant.held and seen.document.get("token", 0) >= grant.token:
                    asked.set()
                    self._announce(grant, str(seen.document["by"]), str(seen.document["reason"]))

        runtime.spawn(listen, name=f"fencepost-courtesy-{grant.name}")
        return asked

    def _record(self, name: str) -> AsyncRecord:
        return AsyncRecord(self._presence, f"yield/{name}")

    def _announce(self, grant: "AsyncGrant", by: str, reason: str) -> None:
        holder = self._presence.label
        self._presence.announce(
            event.AskedToYield(holder=holder, name=grant.name, token=grant.token, by=by, reason=reason)
        )
