"""The transactions of the engine: each is one step that nobody comes between.

Whatever arrives late has no effect any more, by these marks. A claim puts its keys on its lease, which is not there any
more once it was closed, and insists on the epoch of the lease: on the revision of the lease's own key. Whatever ends a
request begins another epoch, if any of its claims was never answered. Claims of other requests that were on their way
then are sent again. What removes, changes or evicts keys insists on the revision that created them, which no later key
has. A withdrawal insists on that or on the value, which has the serial: a claim whose answer is not known may have made
the key at any revision, and nothing is asked under that serial any more. So does whatever finds that such a request has
lost what it held. A renewal names a lease, and each has an id of its own.
"""

from collections.abc import Iterable, Mapping, Sequence

from fencepost.core.claim import Ask, Claim, Mode
from fencepost.drivers.etcd import request as ask
from fencepost.drivers.etcd.answer import Outcome
from fencepost.engines.etcd import key
from fencepost.engines.etcd.key import Place
from fencepost.engines.etcd.lease import Entry, Lease
from fencepost.engines.etcd.record import Contender, contender_of, eviction_value, value_of

# What a lock asks for, beside its name.
PLAIN = Ask("")[1:]
# As wide as a serial, and nothing that can stand in text.
BLANK = b"\xff\xfe\xfd\xfc\xfb\xfa\xf9\xf8\xf7\xf6"
MOST_PATTERNS = 1_000


class Step:
    """What to send, for the locks under one prefix."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix

    def claim(self, lease: Lease, entry: Entry, epoch: int, *, wait: bool) -> bytes:
        """Take what nobody contends for. Else read who does, and with `wait` take a place, unless there is one.

        Not if another epoch has begun meanwhile: then this may be a message that arrives late.
        """
        if not wait or entry.slot or len(entry.places) > 1 or entry.request.asks[0][1:] != PLAIN:
            return self._claim(lease, entry, entry.serial, epoch, wait=wait)
        # Nearly every claim is like this one, and like the one before it of the same name.
        name = entry.places[0].name
        pattern = lease.patterns.get((name, epoch))
        if pattern is None:
            whole = self._claim(lease, entry, BLANK, epoch, wait=True)
            if len(lease.patterns) >= MOST_PATTERNS:
                lease.patterns.clear()
            pattern = lease.patterns[name, epoch] = whole.split(BLANK)
        return entry.serial.join(pattern)

    def _claim(self, lease: Lease, entry: Entry, serial: bytes, epoch: int, *, wait: bool) -> bytes:
        keys, places, asks = entry.keys, entry.places, entry.request.asks
        in_time = ask.modified_at(key.epoch(self._prefix, lease.id), epoch)
        values = [value_of(entry.request, each, serial) for each in asks]
        puts = [ask.put(own, value, lease.id) for own, value in zip(keys, values, strict=True)]
        free = [ask.created_at(place.start, 0, place.end) for place in places]
        reads = [read_queue(place) for place in places]
        if wait:
            absent = [ask.created_at(own, 0) for own in keys]
            reads.insert(0, ask.nested(ask.transaction([in_time, *absent], puts)))
        return ask.transaction([in_time, *free], puts, reads)

    def withdraw(
        self, lease: Lease, entry: Entry, parts: Sequence[tuple[bytes, Ask]], *, for_good: bool, marked: bool = True
    ) -> bytes:
        """Delete what is still this request's: its keys may be another's by the time that this arrives, and if it is
        not for good, its own, made anew."""
        removals = []
        for own, each in parts:
            value = value_of(entry.request, each, entry.serial)
            by_revision = entry.shared or not for_good
            is_ours = ask.created_at(own, entry.created) if by_revision else ask.has_value(own, value)
            # Where somebody else has written another value, it is still known by the revision that made it.
            as_made = ask.nested(ask.transaction([ask.created_at(own, entry.created)], [ask.delete(own)]))
            otherwise = [as_made] if entry.created and not by_revision else []
            removals.append(ask.nested(ask.transaction([is_ours], [ask.delete(own)], otherwise)))
        return ask.transaction([], [*removals, *(self._mark(lease, entry) if for_good and marked else ())])

    def release(self, lease: Lease, entry: Entry, name: str, token: int, *, marked: bool = True) -> bytes:
        own, mark = entry.key_of(name), self._mark(lease, entry) if marked else []
        late = self._late(entry, name) if entry.created == token else []
        return ask.transaction([ask.created_at(own, token)], [ask.delete(own), *mark], [*late, *mark])

    def release_all(self, lease: Lease, entry: Entry, tokens: Mapping[str, int], *, marked: bool = True) -> bytes:
        """Each that is still there as it was granted, whatever has become of the others."""
        parts = []
        for name, token in tokens.items():
            own = entry.key_of(name)
            late = self._late(entry, name) if entry.created == token else []
            parts.append(ask.nested(ask.transaction([ask.created_at(own, token)], [ask.delete(own)], late)))
        return ask.transaction([], [*parts, *(self._mark(lease, entry) if marked else ())])

    def share(self, lease: Lease, entry: Entry, claim: Claim) -> bytes:
        """Say under the same key, which keeps its place and its token, that readers may be there, too."""
        own = entry.key_of(claim.name)
        value = value_of(entry.request, claim.ask._replace(mode=Mode.SHARED), entry.serial)
        return ask.transaction(_is_there(own, claim.token or 0, lease.id), [ask.put(own, value, lease.id)])

    def end(self, lease: Lease, entry: Entry, name: str, *, marked: bool = True) -> bytes:
        """Of a request that was found gone, remove what has arrived since, and keep out what may still arrive."""
        return ask.transaction([], [*self._late(entry, name), *(self._mark(lease, entry) if marked else ())])

    def _late(self, entry: Entry, name: str) -> list[bytes]:
        """A claim that was never answered may have made the key anew, at a revision that nobody knows."""
        if not entry.doubts:
            return []
        own, asked = entry.key_of(name), next(each for each in entry.request.asks if each.name == name)
        value = value_of(entry.request, asked, entry.serial)
        return [ask.nested(ask.transaction([ask.has_value(own, value)], [ask.delete(own)]))]

    def _mark(self, lease: Lease, entry: Entry) -> list[bytes]:
        """A claim that was never answered may still arrive: another epoch keeps it out while its lease lives."""
        if not entry.doubts:
            return []
        return [ask.put(key.epoch(self._prefix, lease.id), b"", lease.id)]

    def epoch_of(self, lease: Lease) -> bytes:
        """What to read for the epoch that the lease is in."""
        return ask.select(key.epoch(self._prefix, lease.id))

    def evict(self, holders: Iterable[tuple[bytes, Claim]], by: str, audit: int) -> bytes:
        """Delete each key if it is still the one that was seen, and note it on the lease `audit`."""
        return ask.transaction([], [ask.nested(self._eviction(own, claim, by, audit)) for own, claim in holders])

    def _eviction(self, own: bytes, claim: Claim, by: str, audit: int) -> bytes:
        token = claim.token or 0
        record = ask.put(key.eviction(self._prefix, claim.name, token), eviction_value(claim.holder.label, by), audit)
        return ask.transaction([ask.created_at(own, token)], [ask.delete(own), record])

    def inquire(self, lease: Lease, own: bytes, name: str, token: int) -> bytes:
        """Whether a claim is there still, and if not whether somebody evicted it."""
        record = key.eviction(self._prefix, name, token)
        return ask.transaction(_is_there(own, token, lease.id), [], [ask.read(ask.select(record))])


def _is_there(own: bytes, token: int, lease: int) -> list[bytes]:
    """Whether a key of ours counts still. One that somebody else has written anew keeps the revision that made it, and
    is on another lease, or none: nobody counts it any more."""
    return [ask.created_at(own, token), ask.has_lease(own, lease)]


def read_queue(place: Place, revision: int = 0) -> bytes:
    return ask.read(ask.select(place.start, place.end, by_creation=True, revision=revision))


def read_queues(places: Sequence[Place], revision: int) -> bytes:
    """With a revision, as they were then."""
    return ask.transaction([], [read_queue(place, revision) for place in places])


def queues_of(outcome: Outcome, places: Sequence[Place]) -> dict[str, list[Contender]]:
    """The queues that a transaction has read, which stand last in it."""
    found = outcome.reads(len(places))
    return {
        place.name: [contender_of(pair, place.name) for pair in part.pairs if place.is_contender(pair)]
        for place, part in zip(places, found, strict=True)
    }
