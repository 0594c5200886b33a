# Generated from src/fencepost/primitives/_async/roster.py by tools/unasync.py. Do not edit: run `make gen`.
"""Being present where others can see it, for as long as the session lives and no longer."""

import secrets

from fencepost.core.claim import Ask
from fencepost.core.name import shortened
from fencepost.core.roster import is_roster, left, members, neighbour
from fencepost.errors import EngineError, FencepostError
from fencepost.session._sync.grant import Grant
from fencepost.session._sync.limit import Limit
from fencepost.session._sync.presence import Presence
from fencepost.session._sync.pursuit import Denial, obtain
from fencepost.session._sync.record import Record, IsSound


class Roster:
    """A record of who is there, and for each of them a lock that only it holds.

    Whoever dies loses its lock; the one behind it in the ring finds that out, and strikes it off for all to see.
    So each member costs one look per period, however many there are. When the last has gone nothing of the record is
    left, unless it `lasts`: it tells of what was before.
    """

    def __init__(
        self, presence: Presence, kind: str, name: str, is_sound: IsSound = is_roster, *, lasts: bool = False
    ) -> None:
        self.record = Record(presence, f"{kind}/{name}", is_sound)
        self._presence = presence
        self._name = shortened(name)
        self._lasts = lasts

    @property
    def period(self) -> float:
        """How often a member looks after its neighbour."""
        return self._presence.terms.period

    def new_id(self) -> str:
        return secrets.token_hex(6)

    def appear(
        self, id: str, note: str, taken: list[Grant], timeout: float | None, back_by: float
    ) -> Denial | None:
        """Be known to live, under that id. Nobody else asks for its lock; but an engine may take its time."""
        ask = Ask(self._lock_of(id), note=note)
        return obtain(self._presence, (ask,), timeout, taken, back_by=back_by)

    def leave(self, id: str) -> None:
        """Be struck off at once, as far as the engine answers. The lock goes next: then a neighbour sees to it."""
        clock, limits = self._presence.clock, self._presence.limits
        try:
            with Limit(clock, clock.now() + limits.call):
                self.strike_off(id)
        except FencepostError:
            pass

    def strike_off(self, *ids: str) -> None:
        document = self.record.change(lambda document: left(document, ids))
        if not members(document) and not self._lasts:
            self._clear()

    def _clear(self) -> None:
        """Nobody is there. Whoever comes meanwhile has changed the record, and then it stays."""
        try:
            while True:
                seen = self.record.read()
                if not seen.version or members(seen.document) or self.record.empty(seen.version):
                    return
        except EngineError:
            # It only takes up room, until the next who leaves.
            pass

    def look_after_neighbour(self, id: str) -> None:
        document = (self.record.read()).document
        other = neighbour(document, id)
        if other is not None and not self.is_there(other):
            self.strike_off(other)

    def look_after_first(self) -> None:
        """For those who watch. While anybody lives, each dead one is struck off by a neighbour: so one look tells, and
        more are taken only after nobody is left to do so.
        """
        for member in members((self.record.read()).document):
            if self.is_there(member.id):
                return
            self.strike_off(member.id)

    def strike_off_the_dead(self) -> None:
        """For those who are not members themselves, and so have no neighbour to look after."""
        document = (self.record.read()).document
        alive = set(self._presence.names(self._lock_of("")))
        missing = [member.id for member in members(document) if self._lock_of(member.id) not in alive]
        # An engine may list a name late, but knows at once who holds it.
        dead = [id for id in missing if not self.is_there(id)]
        if dead:
            self.strike_off(*dead)

    def is_there(self, id: str) -> bool:
        """Whether it has its lock still, which it has once and never again."""
        return bool((self._presence.look(self._lock_of(id))).holders)

    def _lock_of(self, id: str) -> str:
        return f"{self._name}/{id}"
