"""What an operator sees and does. Everything here happens inside a transaction."""

from fencepost.contract.answer import Eviction, Snapshot, Standing
from fencepost.core.claim import Claim
from fencepost.core.name import is_name
from fencepost.engines.sqlite.lease import Leases
from fencepost.engines.sqlite.queue import EVERYONE, Queue
from fencepost.engines.sqlite.row import Row
from fencepost.engines.sqlite.sql import STATEMENTS

MOST_EVICTIONS = 1000


class Sight:
    def __init__(self, queue: Queue, leases: Leases) -> None:
        self._queue = queue
        self._leases = leases

    def look(self, name: str) -> Snapshot:
        holders, waiters = self._living(name)
        now = self._queue.now()
        found = self._queue.store.execute(STATEMENTS["evictions"], (name,)).fetchall()
        evictions = tuple(
            Eviction(which, token, who, by, now - at)
            for which, token, who, by, at in found
            if tuple(map(type, (token, who, by, at))) == (int, str, str, float)
        )
        return Snapshot(name, _standings(holders, now), _standings(waiters, now), evictions)

    def names(self, prefix: str) -> list[str]:
        self._leases.sweep()
        return [name for (name,) in self._queue.store.execute(STATEMENTS["names"], (prefix,)) if is_name(name)]

    def evict(self, name: str, by: str) -> tuple[Claim, ...]:
        holders, _ = self._living(name)
        queue = self._queue
        for row in holders:
            queue.change("evict", name, row.number, row.label, by, queue.now())
            queue.change("warn_evicted", row.holder)
            queue.change("drop", name, 0, row.number, row.holder)
        queue.change("forget_evictions", MOST_EVICTIONS)
        queue.promote((name,))
        return tuple(row.claim() for row in holders)

    def _living(self, name: str) -> tuple[list[Row], list[Row]]:
        queue = self._queue
        while True:
            holders = queue.rows("standing", name, 0, EVERYONE)
            waiters = queue.rows("standing", name, 1, EVERYONE)
            dead = {row.holder for row in holders + waiters if queue.is_dead(row)}
            if not dead:
                return holders, waiters
            queue.bury(dead)


def _standings(rows: list[Row], now: float) -> tuple[Standing, ...]:
    return tuple(Standing(row.claim(), now - row.since, row.expires_at - now, row.priority) for row in rows)
