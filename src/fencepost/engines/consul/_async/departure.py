# Written by hand; the blocking twin under _sync is generated from it.
"""Giving back what is held, and with it, where that can be said at once, making the next one the holder."""

from collections.abc import Iterable, Sequence

from fencepost.core.claim import Claim, Mode
from fencepost.engines.consul import shortcut
from fencepost.engines.consul._async.line import AsyncLine
from fencepost.engines.consul._async.store import AsyncStore
from fencepost.engines.consul.key import lock_of, place_of
from fencepost.engines.consul.lease import Lease
from fencepost.engines.consul.scene import hand_over, heir_of, left_of
from fencepost.engines.consul.transaction import (
    MOST_OPERATIONS,
    Conflict,
    Operation,
    at_index,
    delete,
    tree,
    unchanged,
)
from fencepost.errors import Unavailable

# As many claims as fit into one transaction, with all that goes along.
MOST_TOGETHER = MOST_OPERATIONS // 4 - 2
MOST_ATTEMPTS = 100


class AsyncDeparture:
    def __init__(self, store: AsyncStore, line: AsyncLine, prefix: str) -> None:
        self._store = store
        self._line = line
        self._prefix = prefix

    async def release(self, lease: Lease | None, claim: Claim) -> bool:
        _, serial, ask, token = claim
        queued = _is_queued(lease, serial)
        if not queued and lease is not None and ask.mode is Mode.EXCLUSIVE and token:
            lease.drop(serial, ask.name)
            # Whoever has come since, and waits, watches the key that goes.
            response = await self._store.send(shortcut.release(lock_of(self._prefix, ask.name), token))
            return response.status == 200 or not isinstance(self._store.outcome([], response), Conflict)
        if lease is not None:
            lease.drop(serial, ask.name)
        name, key = ask.name, lock_of(self._prefix, ask.name)
        operations = self._removal(claim, queued)
        follow: list[Operation] = []
        if ask.mode is Mode.EXCLUSIVE and self._line.is_busy([name]):
            view = (await self._line.views({name: key}))[name]
            heir = heir_of(view)
            if heir is not None:
                follow = hand_over(view, heir, self._store.now())
        found = await self._store.transact([*operations, *follow, tree(key)])
        if isinstance(found, Conflict) and follow and 0 not in found.reasons:
            # The heir has gone meanwhile: let the next one be found afterwards.
            found = await self._store.transact([*operations, tree(key)])
        if isinstance(found, Conflict):
            await self.clear(lease, [claim])
            return False
        await self._line.settle(self._line.views_of({name: key}, found))
        return True

    async def release_all(self, lease: Lease | None, claims: Sequence[Claim]) -> tuple[bool, ...]:
        """In one transaction, unless one of them is gone or they are too many: then one by one."""
        if len(claims) <= MOST_TOGETHER:
            locks = {claim.name: lock_of(self._prefix, claim.name) for claim in claims}
            removals = [each for claim in claims for each in self._removal(claim, _is_queued(lease, claim.serial))]
            found = await self._store.transact([*removals, *(tree(key) for key in locks.values())])
            if not isinstance(found, Conflict):
                for claim in claims:
                    if lease is not None:
                        lease.drop(claim.serial, claim.name)
                await self._line.settle(self._line.views_of(locks, found))
                return (True,) * len(claims)
        return tuple([await self.release(lease, claim) for claim in claims])

    async def clear(self, lease: Lease | None, claims: Iterable[Claim]) -> None:
        """Leave nothing of claims that were found gone, as when somebody deleted the lock key by hand.

        By its place in the queue, which it keeps while it holds, whoever comes would make it the holder once more, and
        nobody would know of that here.
        """
        pending = list(claims)
        for _ in range(MOST_ATTEMPTS):
            locks = {claim.name: lock_of(self._prefix, claim.name) for claim in pending}
            found = await self._store.read([tree(key) for key in locks.values()])
            changed = []
            for claim in pending:
                key = locks[claim.name]
                left = left_of(claim, key, found)
                # Looked at after reading: a request that is asked again is noted before it is sent.
                if left and not _is_asked_again(lease, claim):
                    removals = [operation for pair in left for operation in (unchanged(pair), delete(pair.key))]
                    after = await self._store.transact([*removals, tree(key)])
                    if isinstance(after, Conflict):
                        changed.append(claim)
                    else:
                        await self._line.settle(self._line.views_of({claim.name: key}, after))
            if not changed:
                return
            pending = changed
        raise Unavailable(f"consul changed too often under {MOST_ATTEMPTS} attempts to clear what was lost")

    def _removal(self, claim: Claim, queued: bool) -> list[Operation]:
        holder, serial, ask, token = claim
        key = lock_of(self._prefix, ask.name)
        place = place_of(key, holder.id, serial)
        held = key if ask.mode is Mode.EXCLUSIVE else place
        waited = [delete(place)] if held is key and queued else []
        return [at_index(held, token or 0), delete(held), *waited]


def _is_queued(lease: Lease | None, serial: int) -> bool:
    """Whether the request may have left something in a queue."""
    entry = None if lease is None else lease.entries.get(serial)
    return entry is None or entry.queued


def _is_asked_again(lease: Lease | None, claim: Claim) -> bool:
    """Whether what is there of the request may be of another claim than this: one that is asked, or was granted."""
    entry = None if lease is None else lease.entries.get(claim.serial)
    return entry is not None and (entry.tokens is None or entry.tokens.get(claim.name, claim.token) != claim.token)
