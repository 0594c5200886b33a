# Written by hand; the blocking twin under _sync is generated from it.
"""Polite requests: whoever wants a lock asks its holder to let go, and the holder may."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from fencepost._runtime import aio as runtime
from fencepost.core import event
from fencepost.core.claim import Mode
from fencepost.core.malformed import are_texts, is_integer
from fencepost.errors import FencepostError
from fencepost.session._async.record import AsyncRecord, Document

if TYPE_CHECKING:
    from fencepost.session._async.grant import AsyncGrant
    from fencepost.session._async.presence import AsyncPresence


# Of how many names a session remembers that it asked for them.
MOST_WISHES = 1_000


class AsyncCourtesy:
    """A request names the highest token it means, so that it does not reach whoever holds the name next.

    It is cleared away once nobody it means holds the name: by a holder that was told and lets go, by the session that
    asked when it gets the name, or by the next who listens. Only who knows of a request looks for it.
    """

    def __init__(self, presence: "AsyncPresence") -> None:
        self._presence = presence
        # The names that this session asked for, the latest last.
        self.wishes: dict[str, None] = {}

    async def ask(self, name: str, reason: str) -> bool:
        """Ask whoever holds the name now; whether anybody does."""
        tokens = [standing.claim.token or 0 for standing in (await self._presence.look(name)).holders]
        if tokens:
            wish = {"token": max(tokens), "by": self._presence.label, "reason": reason}
            self._note(name)
            await self._record(name).change(lambda document: wish if document.get("token", 0) < wish["token"] else None)
        return bool(tokens)

    def listen(self, grant: "AsyncGrant") -> runtime.Event:
        """Set once somebody asks for what the grant holds."""
        record, asked = self._record(grant.name), runtime.Event()

        async def listen() -> None:
            version = -1
            # Not for long at a time: a thread that listens does not hear that the grant was given back.
            patience = min(self._presence.terms.span, self._presence.limits.call)
            while grant.held and not asked.is_set():
                try:
                    seen = await record.next(version, patience)
                except FencepostError:
                    # The keeper tells of trouble with the engine; a wish is not worth more than that.
                    await self._presence.clock.wait(grant.lost, self._presence.clock.now() + 1.0)
                    continue
                version = seen.version
                if grant.held and seen.document.get("token", 0) >= grant.token:
                    asked.set()
                    self._announce(grant, str(seen.document["by"]), str(seen.document["reason"]))
                elif seen.document:
                    await self.clear(grant, grant.token - 1)

        runtime.spawn(listen, name=f"fencepost-courtesy-{grant.name}")
        return asked

    def fulfil(self, grants: "Iterable[AsyncGrant]") -> None:
        """We have what we asked for: clear the request away, without keeping the new holder waiting."""
        for grant in grants:
            if grant.name in self.wishes:
                self.wishes.pop(grant.name, None)
                self._clear_later(grant)

    def _clear_later(self, grant: "AsyncGrant") -> None:
        async def clear() -> None:
            await self.clear(grant, grant.token - 1)

        runtime.spawn(clear, name=f"fencepost-courtesy-{grant.name}")

    async def clear(self, grant: "AsyncGrant", highest: int) -> None:
        """Clear away a request for the grant's name that means `highest` at most, if nobody that it means holds it."""
        record = self._record(grant.name)
        try:
            seen = await record.read()
            meant = seen.document.get("token", 0)
            if not seen.document or meant > highest:
                return
            if grant.claim.ask.mode is not Mode.EXCLUSIVE:
                # It may mean others beside us, who have not looked yet.
                holders = (await self._presence.look(grant.name)).holders
                if any((standing.claim.token or 0) <= meant for standing in holders):
                    return
            await record.empty(seen.version)
        except FencepostError:
            # It only takes up room, until the next who comes across it.
            return

    def _note(self, name: str) -> None:
        self.wishes.pop(name, None)
        self.wishes[name] = None
        while len(self.wishes) > MOST_WISHES:
            self.wishes.pop(next(iter(self.wishes)), None)

    def _record(self, name: str) -> AsyncRecord:
        return AsyncRecord(self._presence, f"yield/{name}", _is_wish)

    def _announce(self, grant: "AsyncGrant", by: str, reason: str) -> None:
        holder = self._presence.label
        self._presence.announce(
            event.AskedToYield(holder=holder, name=grant.name, token=grant.token, by=by, reason=reason)
        )


def _is_wish(document: Document) -> bool:
    """Whether a document that anybody may have written is a request, or none."""
    if not document:
        return True
    return is_integer(document.get("token")) and are_texts([document.get("by"), document.get("reason")])
