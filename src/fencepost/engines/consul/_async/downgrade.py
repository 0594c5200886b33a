# Written by hand; the blocking twin under _sync is generated from it.
"""From holding a name alone to sharing it, and giving back what was so changed.

Its key is another from then on, and was written later than the lock was granted: the token stands in the record, and no
index says any more whether it is held. So it is looked at first, also where nobody knows whether the change was made.
"""

from fencepost.core.claim import Claim
from fencepost.engines.consul._async.departure import AsyncDeparture
from fencepost.engines.consul._async.line import AsyncLine
from fencepost.engines.consul._async.store import AsyncStore
from fencepost.engines.consul.key import lock_of, place_of
from fencepost.engines.consul.lease import Lease
from fencepost.engines.consul.scene import Member, View, share
from fencepost.engines.consul.transaction import Conflict, Operation, delete, tree, unchanged
from fencepost.errors import Unavailable

MOST_ATTEMPTS = 100


class AsyncDowngrade:
    def __init__(self, store: AsyncStore, line: AsyncLine, departure: AsyncDeparture, prefix: str) -> None:
        self._store = store
        self._departure = departure
        self._line = line
        self._prefix = prefix

    async def share(self, lease: Lease | None, claim: Claim) -> bool:
        """Let readers in, and make those that stand next holders. False if it was not held any more."""
        entry = None if lease is None else lease.entries.get(claim.serial)
        if lease is None or entry is None:
            return False
        entry.shared = True
        for _ in range(MOST_ATTEMPTS):
            view, member = await self._find(claim)
            if member is None:
                await self._departure.clear(lease, [claim])
                return False
            if member.record.granted:
                return True
            if await self._do(view, share(view, member)):
                return True
        raise Unavailable(f"consul changed too often under {MOST_ATTEMPTS} attempts to share")

    async def release(self, lease: Lease, claim: Claim) -> bool:
        for _ in range(MOST_ATTEMPTS):
            view, member = await self._find(claim)
            if member is None:
                lease.drop(claim.serial, claim.name)
                await self._departure.clear(lease, [claim])
                return False
            waited = place_of(view.key, *member.record.key)
            if await self._do(view, [unchanged(member.pair), delete(member.pair.key), delete(waited)]):
                lease.drop(claim.serial, claim.name)
                return True
        raise Unavailable(f"consul changed too often under {MOST_ATTEMPTS} attempts to release")

    async def _find(self, claim: Claim) -> tuple[View, Member | None]:
        """The claim as it stands, if it is held still."""
        view = (await self._line.views({claim.name: lock_of(self._prefix, claim.name)}))[claim.name]
        member = view.find((claim.holder.id, claim.serial))
        return view, member if member is not None and member.token == claim.token else None

    async def _do(self, view: View, operations: list[Operation]) -> bool:
        found = await self._store.transact([*operations, tree(view.key)])
        if isinstance(found, Conflict):
            return False
        await self._line.settle(self._line.views_of({view.name: view.key}, found))
        return True
