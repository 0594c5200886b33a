"""The full answer to a request, whatever has happened to it. Everything here happens inside a transaction."""

import math
from collections.abc import Iterable

from fencepost.contract.answer import Busy, Gone, Granted, Queued
from fencepost.core.claim import Claim, Request, admits, ahead
from fencepost.core.priority import BAND, turn_of
from fencepost.engines.sqlite.gate import LOW, hash_of
from fencepost.engines.sqlite.place import Place
from fencepost.engines.sqlite.queue import Queue
from fencepost.engines.sqlite.row import Row
from fencepost.engines.sqlite.sql import STATEMENTS

Fronts = list[list[Row]]


def gone(request: Request) -> Gone:
    return Gone(f"the lease of {request.holder} ended, or the state file was replaced")


class Settlement:
    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._store = queue.store

    def settle(self, request: Request, wait: bool) -> Granted | Queued | Busy | Gone:
        """Its tokens, its place, or a new one; after the dead that stand before it are buried."""
        queue = self._queue
        key = (request.holder.id, request.serial)
        if not queue.is_alive(request.holder.id):
            queue.bury([request.holder.id])
            queue.places.pop(key, None)
            return gone(request)
        promoted = False
        while True:
            place = queue.places.get(key)
            if place is not None:
                place.settle()
            fronts = self._fronts(request, place)
            rows = [row for front in fronts for row in front]
            held = {row.part: row.number for row in rows if row.key == key and not row.waiting}
            if len(held) == len(request.asks):
                queue.places.pop(key, None)
                return Granted(tuple(held[part] for part in range(len(held))))
            dead = {row.holder for row in rows if queue.is_dead(row)}
            if dead:
                queue.bury(dead)
            elif held or (place is not None and not self._stands(request, place)):
                # Part of it was evicted, or all: start again.
                queue.places.pop(key, None)
                self.remove(request)
            elif not _grantable(request, fronts):
                if place is None and not wait:
                    return Busy(_ahead(request, fronts))
                return self.queued(request, fronts, place or self._stand(request))
            elif place is not None and not promoted:
                # Whoever freed the name died before it told us.
                queue.promote(request.names)
                promoted = True
            elif place is not None:
                # What stands there is not what was asked: somebody has changed it.
                queue.places.pop(key, None)
                self.remove(request)
            else:
                self._insert(request, tuple(self._store.mint() for _ in request.asks), waiting=0)

    def queued(self, request: Request, fronts: Fronts, place: Place) -> Queued:
        peers = self._queue.peers
        before: dict[Claim, None] = {}
        watching = set()
        until = []
        for front in fronts:
            claims = [row.claim() for row in front]
            watched = set(ahead(claims, request.holder, request.serial))
            for row, claim in zip(front, claims, strict=True):
                if claim in watched:
                    before[claim] = None
                    until.append(row.expires_at)
                    peer = peers.peer(row.process)
                    if peer is not None and peer.fd >= 0:
                        watching.add(peer)
        place.watching = watching
        place.until = min(until, default=math.inf)
        peers.trim(watching)
        return Queued(request, tuple(before), place)

    def remove(self, request: Request) -> None:
        """Leave nothing of the request, and let others have it."""
        self._drop(request.holder.id, request.serial, request.names)

    def _drop(self, holder: str, serial: int, names: Iterable[str]) -> None:
        queue = self._queue
        rows = [row for name in names for row in queue.rows("mine", name, holder, serial)]
        for row in rows:
            queue.change("drop", row.name, row.waiting, row.number, row.holder)
        for row in rows:
            if row.waiting:
                queue.close_gap(row)
        queue.promote({row.name for row in rows})

    def recall(self, request: Request, wait: bool) -> Granted | Queued | Busy | Gone:
        """Settle a request that may have a place in the queue which we did not live to note."""
        holder, serial, asks, _ = request
        rows = [row for name in request.names for row in self._queue.rows("mine", name, holder.id, serial)]
        turns = {row.part: row.number for row in rows if row.waiting}
        if len(turns) == len(asks) and (holder.id, serial) not in self._queue.places:
            self._queue.places[holder.id, serial] = Place(tuple(turns[part] for part in range(len(asks))))
        return self.settle(request, wait)

    def clear_up(self, holder: str, serial: int, name: str) -> None:
        """What was to be released is not held: by a lease that ended, or released before by one that failed then.

        Whoever hears that does not ask again, so nothing of its request may be left to become a grant to nobody.
        """
        if self._queue.is_alive(holder):
            self._drop(holder, serial, (name,))
            self._queue.promote((name,))
        else:
            self._queue.bury([holder])

    def _fronts(self, request: Request, place: Place | None) -> Fronts:
        """For each ask those who hold its name, and the last of those who wait before us."""
        last = turn_of(BAND - 1, request.priority)
        turns = place.turns if place is not None else (last,) * len(request.asks)
        asked = zip(request.asks, turns, strict=True)
        return [self._queue.rows("before", ask.name, turn) for ask, turn in asked]

    def _stands(self, request: Request, place: Place) -> bool:
        asked = zip(request.asks, place.turns, strict=True)
        execute, statement = self._store.execute, STATEMENTS["place"]
        return all(execute(statement, (ask.name, turn)).fetchall() for ask, turn in asked)

    def _stand(self, request: Request) -> Place:
        """Take a place in the queue, with an address for the letter that ends the wait."""
        queue = self._queue
        if not queue.mailbox.name:
            queue.mailbox.open()
        gate, priority = self._store.gate, request.priority
        turns = tuple(turn_of(self._store.mint(), priority) for _ in request.asks)
        place = queue.places[request.holder.id, request.serial] = Place(turns)
        queue.change("move_in", request.holder.id, queue.mailbox.name)
        for name in request.names:
            gate.note_line(hash_of(name), there=True)
        self._insert(request, turns, waiting=1)
        if priority < 0:
            gate.words[LOW] = 1
        if priority > 0 or gate.words[LOW]:
            self._overtake(request, turns)
        return place

    def _overtake(self, request: Request, turns: tuple[int, ...]) -> None:
        """Whoever stands behind us has us to watch from now on."""
        for ask, turn in zip(request.asks, turns, strict=True):
            for row in self._queue.rows("after", ask.name, turn):
                self._queue.tell(row)

    def _insert(self, request: Request, numbers: tuple[int, ...], *, waiting: int) -> None:
        holder, serial, asks, _ = request
        now = self._queue.now()
        for part, (ask, number) in enumerate(zip(asks, numbers, strict=True)):
            name, mode, weight, limit, note = ask
            place = (name, waiting, number, holder.id, serial, part, len(asks))
            self._queue.change("claim", *place, mode._value_, weight, limit, note, now)


def _grantable(request: Request, fronts: Fronts) -> bool:
    return all(
        not any(row.waiting for row in front) and admits([row.ask() for row in front], ask)
        for ask, front in zip(request.asks, fronts, strict=True)
    )


def _ahead(request: Request, fronts: Fronts) -> tuple[Claim, ...]:
    holder, serial, _, _ = request
    found = (ahead([row.claim() for row in front], holder, serial) for front in fronts)
    return tuple(dict.fromkeys(claim for claims in found for claim in claims))
