# Written by hand; the blocking twin under _sync is generated from it.
"""Being present where others can see it, for as long as the session lives and no longer."""

import secrets

from fencepost.core.claim import Ask
from fencepost.core.roster import left, members, neighbour
from fencepost.session._async.grant import AsyncGrant
from fencepost.session._async.presence import AsyncPresence
from fencepost.session._async.pursuit import obtain
from fencepost.session._async.record import AsyncRecord


class AsyncRoster:
    """A record of who is there, and for each of them a lock that only it holds.

    Whoever dies loses its lock; the one behind it in the ring finds that out, and strikes it off for all to see.
    So each member costs one look per period, however many there are.
    """

    def __init__(self, presence: AsyncPresence, kind: str, name: str) -> None:
        self.record = AsyncRecord(presence, f"{kind}/{name}")
        self._presence = presence
        self._name = name

    @property
    def period(self) -> float:
        """How often a member looks after its neighbour."""
        return self._presence.terms.span / 3

    async def appear(self, note: str, taken: list[AsyncGrant]) -> str:
        """Be known to live, under a new id."""
        id = secrets.token_hex(6)
        await obtain(self._presence, (Ask(self._lock_of(id), note=note),), None, taken)
        return id

    async def strike_off(self, *ids: str) -> None:
        await self.record.change(lambda document: left(document, ids))

    async def look_after_neighbour(self, id: str) -> None:
        document = (await self.record.read()).document
        other = neighbour(document, id)
        if other is not None and not await self._is_there(other):
            await self.strike_off(other)

    async def look_after_first(self) -> None:
        """For those who watch. While anybody lives, each dead one is struck off by a neighbour: so one look tells, and
        more are taken only after nobody is left to do so.
        """
        for member in members((await self.record.read()).document):
            if await self._is_there(member.id):
                return
            await self.strike_off(member.id)

    async def strike_off_the_dead(self) -> None:
        """For those who are not members themselves, and so have no neighbour to look after."""
        document = (await self.record.read()).document
        alive = set(await self._presence.names(self._lock_of("")))
        missing = [member.id for member in members(document) if self._lock_of(member.id) not in alive]
        # An engine may list a name late, but knows at once who holds it.
        dead = [id for id in missing if not await self._is_there(id)]
        if dead:
            await self.strike_off(*dead)

    async def _is_there(self, id: str) -> bool:
        return bool((await self._presence.look(self._lock_of(id))).holders)

    def _lock_of(self, id: str) -> str:
        return f"{self._name}/{id}"
