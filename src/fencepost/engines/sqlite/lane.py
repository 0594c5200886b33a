"""The fast lane: claim and release of a name that has a relay, with nothing in between.

Many processes that hand a lock around leave each other cold caches, and then every line of code takes several times as
long as when it is repeated. So this is short, even where it says again what `Store` and the engine say.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from fencepost.contract.answer import Granted, Queued
from fencepost.core.claim import Claim, Mode, Request
from fencepost.engines.sqlite.gate import Occupied
from fencepost.engines.sqlite.mailbox import Letter, made
from fencepost.engines.sqlite.place import LOOK_AFTER, Place
from fencepost.engines.sqlite.queue import Queue
from fencepost.engines.sqlite.vigil import Vigil

A = TypeVar("A")
T = TypeVar("T")
# How often to try again while somebody is inside the gate.
PATIENCE = 8


class Lane:
    """Answers at once, or with None: then the way through the state file is the one to go, and tells what is wrong.

    `is_open` says whether this engine has seen a relay of late.
    """

    def __init__(self, queue: Queue, vigil: Vigil) -> None:
        self.is_open = False
        self._queue = queue
        self._vigil = vigil
        self._store = queue.store
        self._gate = queue.store.gate
        self._tracks = queue.store.tracks
        self._now = queue.now

    def claim(self, request: Request) -> Granted | Queued | None:
        return self._soon(self.claim_inside, request)

    def release(self, claim: Claim) -> Sequence[Letter] | None:
        """What to tell whoever has the name now."""
        return self._soon(self.release_inside, claim)

    def _soon(self, work: Callable[[A], T], what: A) -> T | None:
        """Whoever is inside is out within microseconds, and the long way takes longer than that."""
        alone = self._gate.alone
        for _ in range(1 + PATIENCE):
            try:
                return alone(work, what)
            except Occupied:
                continue
            except OSError:
                break
        return None

    def release_inside(self, claim: Claim) -> Sequence[Letter] | None:
        holder, _, ask, token = claim
        now = self._now()
        # Whatever became of the state file: a relay that has this token at its head is the one that granted it.
        relay = self._tracks.relay_of(ask.name)
        self.is_open = relay is not None
        if relay is None or token is None or self._queue.lease_ends.get(holder.id, 0.0) <= now:
            return None
        letters = relay.pass_on(token, now)
        if letters:
            self._gate.check()
        return letters

    def claim_inside(self, request: Request) -> Granted | Queued | None:
        holder, serial, asks, priority = request
        name, mode, weight, limit, note = asks[0]
        if len(asks) > 1 or mode is not Mode.EXCLUSIVE or not weight == limit == 1 or note or priority:
            return None
        relay = self._tracks.relay_of(name) if self._store.is_paired() else None
        self.is_open = relay is not None
        if relay is None:
            return None
        queue, who, now = self._queue, holder.id, self._now()
        lease_ends = queue.lease_ends.get(who, 0.0)
        mailbox = queue.mailbox.name
        if lease_ends <= now or serial <= queue.latest.get(who, 0):
            return None
        if not (mailbox and queue.addresses.get(who) == mailbox) and not relay.is_free():
            return None
        queue.latest[who] = serial
        number = self._gate.mint()
        # Where several wait in one engine, its reader has others to serve.
        call = not queue.places and self._vigil.is_wanted()
        before = relay.join(number, number, now, serial, lease_ends, who, mailbox, call)
        if before is None:
            return None
        if not before:
            self._gate.check()
            return made(Granted, ((number,),))
        place = queue.places[who, serial] = Place((number,), now + LOOK_AFTER)
        return made(Queued, (request, (), place))
