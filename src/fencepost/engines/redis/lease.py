"""One lease as its engine knows it: what is asked and held on it, and the bytes its commands have in common."""

from collections.abc import Collection, Container
from typing import NamedTuple

from fencepost.core.claim import Claim, Mode, Request
from fencepost.core.holder import Holder
from fencepost.engines.redis.key import SINGLE, Place, Shard
from fencepost.engines.redis.nonce import LENGTH, Nonces
from fencepost.engines.redis.record import BAND, kind_of, several, tail_of
from fencepost.engines.redis.resp import bulk
from fencepost.engines.redis.script import ASK, CLAIM, LEAVE, RENEW, Script
from fencepost.engines.redis.waiter import Waiter

EXCLUSIVE = Mode.EXCLUSIVE
CLAIM_HEAD = CLAIM.head(5, 7)
FLAGS = {(wait, opens): bulk(b"%d" % wait) + bulk(b"%d" % opens) for wait in (0, 1) for opens in (0, 1)}


class Entry:
    """A request that was sent: a place in a queue, or (with tokens) what it still holds."""

    # By name, once granted; a name that was given back is not in it.
    tokens: dict[str, int] | None = None
    waiter: Waiter | None = None
    again_at = 0.0
    looks = 0
    # What a renewal says of each name, kept from one to the next as long as nothing changes.
    packed: "list[Subject] | None" = None

    def __init__(self, request: Request, places: list[Place], own: bytes, nonce: bytes) -> None:
        self.request = request
        self.places = places
        self.own = own
        self.nonce = nonce

    @property
    def locks(self) -> list[bytes]:
        return [place.lock for place in self.places]

    def has(self, name: str) -> bool:
        """Whether it has a place for the name, or holds it still."""
        return self.tokens is None or name in self.tokens


class Subject(NamedTuple):
    """One name of an entry, and what a renewal says of it: that it is held, with its token, or waited for."""

    entry: Entry
    name: str
    place: Place
    token: int | None
    said: bytes


class Batch(NamedTuple):
    """One command for one slot, and for each of its locks the request and name that it is about."""

    slot: int
    command: bytes
    subjects: list[Subject]
    shard: Shard

    @property
    def holds(self) -> bool:
        """Whether anything was held in the slot when it was sent."""
        return any(subject.token is not None for subject in self.subjects)


class Epochs:
    """The epoch of a lease, which a server knows too: see lua/queue.lua for what it is good for."""

    def __init__(self) -> None:
        self._number = 0
        self.advance()

    def advance(self) -> bytes:
        """What was sent and not answered counts no more, once a server hears of anything that is sent from now on."""
        # No call before it has begun: at each a signal handler may raise, or another thread go on to the next.
        self._number += 1
        self.now = b"%d" % self._number
        self.bulk = bulk(self.now)
        return self.now


class Lease:
    def __init__(self, holder: Holder, ttl: float, channel: str) -> None:
        self.holder = holder
        self.epochs = Epochs()
        self.id = holder.id.encode()
        self.entries: dict[int, Entry] = {}
        # What was given up or given back while the server did not say that it heard: renewed no more, and asked again.
        self.leaving: dict[int, Entry] = {}
        # The slots in which the server knows of this lease, and the one where it stands also with nothing on it.
        self.slots: dict[int, Shard] = {}
        self.home = (0, SINGLE)
        self.ttl = max(1, int(ttl * 1000))
        self._channel = channel.encode() + b","
        self._nonces = Nonces()
        self._middles: dict[int, bytes] = {}
        self._tail = tail_of(holder.label, "")
        self._end = self._ending(self._tail)

    def _ending(self, tail: bytes) -> bytes:
        """What comes before the nonce, in the same word as the channel."""
        words = bulk(b":" + tail) + bulk(b"%d" % self.ttl)
        return b"%b$%d\r\n%b" % (words, len(self._channel) + LENGTH, self._channel)

    def note(self, request: Request, places: list[Place]) -> Entry:
        """Before anything is sent: from now on renewals cover it, whatever becomes of the answer."""
        entry = Entry(request, places, b"fp:%b:%d:" % (self.id, request.serial), self._nonces.next())
        self.entries[request.serial] = entry
        return entry

    def lacking(self, claims: Collection[Claim], gone: Container[tuple[int, str]]) -> list[tuple[int, str]]:
        """Those of the claims that are gone, or that this lease knows nothing of."""
        entries = self.entries
        return [
            (serial, ask.name)
            for _, serial, ask, _ in claims
            if (entry := entries.get(serial)) is None or not entry.has(ask.name) or (serial, ask.name) in gone
        ]

    def miss(self, subject: Subject) -> None:
        """The server does not have it as it was said: a claim is gone, a place has become something else.

        As it was said: what was a place then may have been granted since, and must be renewed on.
        """
        entry = subject.entry
        entry.packed = None
        if subject.token is None:
            if entry.waiter is not None:
                # What a message said of it may have been taken away since.
                entry.waiter.doubt()
                entry.waiter.stir()
        elif entry.tokens is not None and entry.tokens.get(subject.name) == subject.token:
            self.drop(entry.request.serial, subject.name)

    def skip(self, batch: Batch) -> bool:
        """The slot did not answer. Whether that does no harm, since nothing is held there.

        The lease may end there from now on while it lives elsewhere: nothing is believed to be granted that the slot
        has not said since, to a claim that opens the lease there anew.
        """
        self.slots.pop(batch.slot, None)
        held = batch.holds
        # Not only those of the batch: others were asked for meanwhile. Whoever notes a grant looks at the slots then.
        for entry in list(self.entries.values()):
            if entry.places[0].slot == batch.slot:
                if entry.waiter is not None:
                    entry.waiter.doubt()
                held = held or bool(entry.tokens)
        return not held

    def drop(self, serial: int, name: str) -> None:
        """A claim that is given back or gone is renewed no more."""
        entry = self.entries.get(serial)
        if entry is not None and entry.tokens is not None:
            entry.packed = None
            entry.tokens.pop(name, None)
            if not entry.tokens:
                self.entries.pop(serial, None)

    def share(self, serial: int, name: str) -> None:
        """A claim of the whole name is a shared one from now on, and renewed as such."""
        entry = self.entries.get(serial)
        if entry is not None:
            asks = (ask._replace(mode=Mode.SHARED) if ask.name == name else ask for ask in entry.request.asks)
            entry.request = entry.request._replace(asks=tuple(asks))
            entry.packed = None

    def claim(self, entry: Entry, *, wait: bool, opens: bool) -> tuple[Script, bytes]:
        """`opens`: the lease may be unknown in the slot, or end there."""
        place, own = entry.places[0], entry.own
        slot = place.slot
        flags = FLAGS[wait, opens]
        _, mode, _, _, note = entry.request.asks[0]
        priority = entry.request.priority
        if mode is EXCLUSIVE and not priority and len(entry.places) == 1:
            end = self._ending(self._tail + note.encode()) if note else self._end
            middle = self._middles.get(slot) or self._middle(slot, place.shard)
            words = (CLAIM_HEAD, place.pair, middle, len(own), own, end, entry.nonce, flags, self.epochs.bulk)
            return CLAIM, b"%b%b%b$%d\r\n%b\r\n%b%b\r\n%b%b" % words
        request = bulk(place.lock) + bulk(place.shard.mark) + bulk(self.members(entry)[0])
        request += flags + self.epochs.bulk + bulk(b"%d" % (priority * BAND))
        if len(entry.places) == 1:
            return ASK, ASK.head(2, 5) + request
        names = several(self.holder.label, entry.request.asks, entry.locks)
        return ASK, ASK.head(2, 6) + request + bulk(names)

    def _middle(self, slot: int, shard: Shard) -> bytes:
        middle = self._middles[slot] = bulk(shard.lease(self.holder.id)) + shard.tail_bulk
        return middle

    def members(self, entry: Entry) -> list[bytes]:
        """The entry as it stands in each of its queues."""
        return members(self.holder, entry.request, self.ttl, self._channel + entry.nonce)

    def renewals(self) -> list[Batch]:
        """For each slot the call that keeps all there is on this lease. A slot that is empty is left to end there."""
        ttl = bulk(b"%d" % self.ttl)
        found = self._by_slot(dict([self.home]))
        # Other threads claim in new slots meanwhile.
        for slot in list(self.slots):
            if slot not in found:
                self.slots.pop(slot, None)
        batches = []
        for slot, (shard, subjects) in found.items():
            keys = [bulk(shard.lease(self.holder.id)), shard.index_bulk, bulk(shard.audit)]
            arguments = [ttl]
            keys += [place.lock_bulk for _, _, place, _, _ in subjects]
            arguments += [said for _, _, _, _, said in subjects]
            command = b"".join((RENEW.head(len(keys), len(arguments)), *keys, *arguments))
            batches.append(Batch(slot, command, subjects, shard))
        return batches

    def _said(self, entry: Entry) -> list[bytes]:
        """Of each name."""
        tokens = entry.tokens
        if tokens is None:
            return [b"=" + member for member in self.members(entry)]
        own, shared = entry.own, b"#" + entry.own[3:]
        return [
            b"%b%d:" % (own, tokens.get(name, 0)) if mode is EXCLUSIVE else b"%b%d" % (shared, tokens.get(name, 0))
            for name, mode, _, _, _ in entry.request.asks
        ]

    def closings(self) -> list[Batch]:
        """For each slot the call that gives back all there is on this lease, and ends it."""
        batches = []
        slots = self._by_slot({self.home[0]: self.home[1], **self.slots})
        leaving = list(self.leaving.values())
        for entry in leaving:
            slots.setdefault(entry.places[0].slot, (entry.places[0].shard, []))
        for slot, (shard, subjects) in slots.items():
            # Several names of one entry are in one slot.
            entries = {each.request.serial: each for each in leaving if each.places[0].slot == slot}
            entries |= {subject.entry.request.serial: subject.entry for subject in subjects}
            found = [pair for each in entries.values() for pair in zip(each.locks, self.members(each), strict=True)]
            batches.append(Batch(slot, leave(self, shard, "close", found), [], shard))
        return batches

    def _by_slot(self, shards: dict[int, Shard]) -> dict[int, tuple[Shard, list[Subject]]]:
        found: dict[int, tuple[Shard, list[Subject]]] = {slot: (shard, []) for slot, shard in shards.items()}
        for entry in list(self.entries.values()):
            for subject in entry.packed or self._pack(entry):
                place = subject[2]
                if place.slot not in found:
                    found[place.slot] = (place.shard, [])
                found[place.slot][1].append(subject)
        return found

    def _pack(self, entry: Entry) -> list[Subject]:
        entry.packed = [
            Subject(entry, ask.name, place, (entry.tokens or {}).get(ask.name), bulk(said))
            for ask, place, said in zip(entry.request.asks, entry.places, self._said(entry), strict=True)
            if entry.has(ask.name)
        ]
        return entry.packed


def members(holder: Holder, request: Request, ttl: int, channel: bytes) -> list[bytes]:
    """A request as it stands in the queue of each of its names."""
    mark = b"m" if len(request.asks) > 1 else b""
    stem = b"%b:%d:%d:%b:%b" % (holder.id.encode(), request.serial, ttl, channel, mark)
    return [b"%b%b:%b" % (stem, kind_of(ask).encode(), tail_of(holder.label, ask.note)) for ask in request.asks]


def leave(lease: Lease, shard: Shard, how: str, found: list[tuple[bytes, bytes]]) -> bytes:
    """The call that leaves nothing of these locks' members."""
    keys = [shard.lease(lease.holder.id), *(lock for lock, _ in found)]
    return LEAVE.pack(keys, shard.prefix, how, lease.epochs.now, *(member for _, member in found))
