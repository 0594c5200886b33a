"""What operators see: etcd keeps no times, so they are told from its leases, and from what was seen before."""

from collections.abc import Callable, Mapping, Sequence

from fencepost.contract.answer import Eviction, Snapshot, Standing
from fencepost.drivers.etcd.answer import KeyValue, Lease
from fencepost.engines.etcd.queue import Queues, granted
from fencepost.engines.etcd.record import Contender, eviction_of

MOST_NAMES = 1_000


class Sight:
    """Remembers when it first saw whom, for names that are looked at again."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._seen: dict[str, dict[tuple[bytes, int], float]] = {}

    def snapshot(
        self, name: str, queues: Queues, evictions: Sequence[KeyValue], leases: Mapping[int, Lease]
    ) -> Snapshot:
        holders = granted(queues)
        seen = self._look(name, queues[name])
        standings = [
            (each.request in holders, self._standing(each, seen, leases[each.lease], holds=each.request in holders))
            for each in queues[name]
        ]
        return Snapshot(
            name,
            holders=tuple(standing for holds, standing in standings if holds),
            waiters=tuple(standing for holds, standing in standings if not holds),
            evictions=tuple(_eviction(name, pair, leases[pair.lease]) for pair in evictions),
        )

    def _look(self, name: str, queue: Sequence[Contender]) -> dict[tuple[bytes, int], float]:
        if len(self._seen) >= MOST_NAMES:
            self._seen.clear()
        before, now = self._seen.get(name, {}), self._now()
        places = [(each.key, each.created) for each in queue]
        seen = self._seen[name] = {place: before.get(place, now) for place in places}
        return seen

    def _standing(
        self, contender: Contender, seen: Mapping[tuple[bytes, int], float], lease: Lease, *, holds: bool
    ) -> Standing:
        # Seconds are whole, rounded down: what is told is the most that may be left, and the least that has passed.
        remaining = max(0, min(lease.granted, lease.seconds + 1))
        since = self._now() - seen[contender.key, contender.created]
        return Standing(contender.claim(granted=holds), since, float(remaining))


def _eviction(name: str, pair: KeyValue, lease: Lease) -> Eviction:
    about = eviction_of(pair.value)
    number = pair.key.rpartition(b"\0")[2]
    token = int(number) if number.isdigit() and len(number) < 20 else 0
    return Eviction(name, token, about.evicted, about.by, float(max(0, lease.granted - lease.seconds)))
