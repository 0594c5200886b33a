"""Claiming and giving back: the short ways. Everything here happens inside the gate.

A name that nobody has is claimed and released in one statement each, and so is a busy one: to stand in
line, and to hand over to the first in line. Whatever is not so simple goes to `Settlement`.
"""

from collections.abc import Sequence
from zlib import crc32

from fencepost.contract.answer import Busy, Gone, Granted, Queued
from fencepost.core.claim import Ask, Claim, Mode, Request
from fencepost.core.holder import Holder
from fencepost.engines.sqlite.gate import NUMBER, RELAYS
from fencepost.engines.sqlite.lane import Lane
from fencepost.engines.sqlite.mailbox import Letter
from fencepost.engines.sqlite.place import LOOK_AFTER, Place
from fencepost.engines.sqlite.queue import Queue
from fencepost.engines.sqlite.settlement import Settlement
from fencepost.engines.sqlite.sql import STATEMENTS

GRANT = STATEMENTS["grant"]
JOIN = STATEMENTS["join"]
RELEASE = STATEMENTS["release"]
HAND_OVER = STATEMENTS["hand_over"]
LET_GO = STATEMENTS["let_go"]
SHARE = STATEMENTS["share"]


class Claims:
    """All claims of one engine."""

    def __init__(self, queue: Queue, lane: Lane) -> None:
        self._queue = queue
        self._lane = lane
        self._settlement = Settlement(queue)
        self._store = queue.store
        self._gate = queue.store.gate
        self._now = queue.now
        self._latest = queue.latest
        self._addresses = queue.addresses

    def claim(self, request: Request, wait: bool) -> Granted | Queued | Busy | Gone:
        holder, serial, asks, _ = request
        who = holder.id
        if serial <= self._latest.get(who, 0):
            return self._queue.atomically(self._settlement.recall, request, wait)
        simple = len(asks) == 1
        if simple and self._gate.words[RELAYS]:
            ran = self._lane.claim_inside(request) if wait else None
            if ran is not None:
                return ran
            simple = self._store.tracks.relay_of(asks[0].name) is None
        self._latest[who] = serial
        answer = self._claim_one(request, asks[0], wait) if simple else None
        if answer is not None:
            return answer
        settled = self._queue.atomically(self._settlement.settle, request, wait)
        if isinstance(settled, Queued):
            self._addresses[who] = self._queue.mailbox.name
        return settled

    def forget(self, holder: Holder) -> None:
        self._latest.pop(holder.id, None)
        self._addresses.pop(holder.id, None)

    def _claim_one(self, request: Request, ask: Ask, wait: bool) -> Granted | Queued | None:
        store = self._store
        name, mode, weight, limit, note = ask
        if weight > limit:
            return None
        token = store.mint()
        who, now, gate = request.holder.id, self._now(), self._gate.words[NUMBER]
        row = (name, token, who, request.serial, mode._value_, weight, limit, note, now, gate)
        if wait and mode is Mode.EXCLUSIVE and not request.priority and store.gate.has_line(crc32(name.encode())):
            place = self._join(request, token, row)
            if place is not None:
                return Queued(request, (), place)
        if store.execute(GRANT, row).rowcount == 1:
            return Granted((token,))
        return None

    def release(self, claim: Claim) -> bool:
        holder, serial, ask, token = claim
        name = ask.name
        gate = self._gate
        if gate.words[RELAYS]:
            letters = self._lane.release_inside(claim)
            if letters is not None:
                self._queue.letters = letters
                return True
            if self._store.tracks.relay_of(name):
                self._queue.transfer.to_file()
        # As `hash_of` says, without the call.
        hashed = crc32(name.encode())
        if token is not None and gate.has_line(hashed):
            if self._hand_over(holder.id, name, token):
                return True
            gate.note_line(hashed, there=False)
        if self._store.execute(RELEASE, (name, token, holder.id, self._now())).rowcount == 1:
            return True
        return self._queue.atomically(self._let_go, holder.id, serial, name, token)

    def release_all(self, claims: Sequence[Claim]) -> tuple[bool, ...]:
        return self._queue.atomically(self._let_go_each, claims)

    def _let_go_each(self, claims: Sequence[Claim]) -> tuple[bool, ...]:
        """All are free before anybody is granted one: a request for many is looked at once, not once for each."""
        held = tuple(self._drop(holder.id, ask.name, token) for holder, _, ask, token in claims)
        for (holder, serial, ask, _), was_held in zip(claims, held, strict=True):
            if not was_held:
                self._settlement.clear_up(holder.id, serial, ask.name)
        self._queue.promote({each.name for each, was_held in zip(claims, held, strict=True) if was_held})
        return held

    def _hand_over(self, holder: str, name: str, token: int) -> bool:
        """Whether the name went to the first in line.

        It is told afterwards, never before: if we are killed in between, or there is no room on the disk, whoever
        was told would have a grant that is written nowhere.
        """
        store, queue, now = self._store, self._queue, self._now()
        number = store.mint()
        row = (name, number, now, token, holder, store.gate.words[NUMBER])
        for who, serial, mailbox in store.execute(HAND_OVER, row).fetchall():
            queue.letters = (Letter(mailbox, who, serial, (number,)),)
            queue.transfer.handed_over(name, now)
            return True
        return False

    def share(self, claim: Claim) -> bool:
        return self._queue.atomically(self._share, claim)

    def _share(self, claim: Claim) -> bool:
        row = (claim.name, claim.token, claim.holder.id, self._now())
        if self._store.execute(SHARE, row).rowcount != 1:
            return False
        self._queue.promote((claim.name,))
        return True

    def withdraw(self, request: Request) -> None:
        place = self._queue.places.pop((request.holder.id, request.serial), None)
        if place is not None:
            place.stir(over="the request was withdrawn")
        self._queue.atomically(self._settlement.remove, request)

    def look_again(self, request: Request) -> Granted | Queued | Busy | Gone:
        return self._queue.atomically(self._settlement.settle, request, True)

    def _join(self, request: Request, number: int, row: tuple[object, ...]) -> Place | None:
        """A place in the queue of a name that was busy a moment ago; None if it is not that simple."""
        queue = self._queue
        if self._store.execute(JOIN, (*row, queue.mailbox.name)).rowcount != 1:
            return None
        place = queue.places[request.holder.id, request.serial] = Place((number,), self._now() + LOOK_AFTER)
        return place

    def _let_go(self, holder: str, serial: int, name: str, token: int | None) -> bool:
        if not self._drop(holder, name, token):
            self._settlement.clear_up(holder, serial, name)
            return False
        self._queue.promote((name,))
        return True

    def _drop(self, holder: str, name: str, token: int | None) -> bool:
        return self._store.execute(LET_GO, (name, token, holder, self._now())).rowcount == 1
