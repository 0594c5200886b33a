"""What an operator sees of advisory locks: the server's list of locks, with what we know ourselves."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from fencepost.contract.answer import Eviction, Snapshot, Standing
from fencepost.core.claim import Ask, Claim, Mode
from fencepost.core.holder import Holder
from fencepost.core.malformed import decoder
from fencepost.engines.postgresql.query import Rows, words

STRANGER = "another client"


class Lock(NamedTuple):
    """One connection that has the lock of a name, or waits for it. A plain SQL client has no holder."""

    pid: int
    granted: bool
    shared: bool
    holder: Holder | None
    ttl: float
    note: str
    token: int
    waited: float
    idle: float

    def standing(self, name: str) -> Standing:
        claim = Claim(
            self.holder or Holder("", STRANGER),
            0,
            Ask(name, Mode.SHARED if self.shared else Mode.EXCLUSIVE, note=self.note),
            self.token if self.granted else None,
        )
        since = self.idle if self.granted else self.waited
        # A waiter is at the server, and has no lease that could end there.
        return Standing(claim, since, max(0.0, self.ttl - self.idle) if self.granted else self.ttl)


@decoder
def locks_of(rows: Rows) -> list[Lock]:
    return [
        Lock(
            pid=int(pid or 0),
            granted=granted == b"t",
            shared=shared == b"t",
            holder=None if holder is None else Holder(words(holder), words(label)),
            ttl=float(ttl or 0),
            note=words(note),
            token=int(token or 0),
            waited=float(waited or 0),
            idle=float(idle or 0),
        )
        for pid, granted, shared, holder, label, ttl, note, token, waited, idle in rows
    ]


@decoder
def snapshot_of(
    name: str, locks: Iterable[Lock], evictions: Rows, own: Mapping[int, tuple[Claim, float, float]]
) -> Snapshot:
    """`own`: by pid, our own claims, for how long they have stood, and what is left of their lease."""
    holders: list[Standing] = []
    waiters: list[Standing] = []
    for lock in locks:
        standing = Standing(*own[lock.pid]) if lock.pid in own else lock.standing(name)
        (holders if lock.granted else waiters).append(standing)
    records = tuple(
        Eviction(name, int(token or 0), words(evicted), words(by), float(ago or 0))
        for token, evicted, by, ago in evictions
    )
    return Snapshot(name, tuple(holders), tuple(waiters), records)
