# Generated from src/fencepost/engines/consul/_async/downgrade.py by tools/unasync.py. Do not edit: run `make gen`.
"""From holding a name alone to sharing it, and giving back what was so changed.

Its key is another from then on, and was written later than the lock was granted: the token stands in the record, and no
index says any more whether it is held. So it is looked at first, also where nobody knows whether the change was made.
"""

from fencepost.core.claim import Claim
from fencepost.engines.consul._sync.departure import Departure
from fencepost.engines.consul._sync.line import Line
from fencepost.engines.consul._sync.store import Store
from fencepost.engines.consul.key import lock_of, place_of
from fencepost.engines.consul.lease import Lease
from fencepost.engines.consul.scene import Member, View, share
from fencepost.engines.consul.transaction import Conflict, Operation, delete, tree, unchanged
from fencepost.errors import Unavailable

MOST_ATTEMPTS = 100


class Downgrade:
    def __init__(self, store: Store, line: Line, departure: Departure, prefix: str) -> None:
        self._store = store
        self._departure = departure
        self._line = line
        self._prefix = prefix

    def share(self, lease: Lease | None, claim: Claim) -> bool:
        """Let readers in, and make those that stand next holders. False if it was not held any more."""
        entry = None if lease is None else lease.entries.get(claim.serial)
        if lease is None or entry is None:
            return False
        entry.shared = True
        for _ in range(MOST_ATTEMPTS):
            view, member = self._find(claim)
            if member is None:
                self._departure.clear(lease, [claim])
                return False
            if member.record.granted:
                return True
            if self._do(view, share(view, member)):
                return True
        raise Unavailable(f"consul changed too often under {MOST_ATTEMPTS} attempts to share")

    def release(self, lease: Lease, claim: Claim) -> bool:
        for _ in range(MOST_ATTEMPTS):
            view, member = self._find(claim)
            if member is None:
                lease.drop(claim.serial, claim.name)
                self._departure.clear(lease, [claim])
                return False
            waited = place_of(view.key, *member.record.key)
            if self._do(view, [unchanged(member.pair), delete(member.pair.key), delete(waited)]):
                lease.drop(claim.serial, claim.name)
                return True
        raise Unavailable(f"consul changed too often under {MOST_ATTEMPTS} attempts to release")

    def _find(self, claim: Claim) -> tuple[View, Member | None]:
        """The claim as it stands, if it is held still."""
        view = (self._line.views({claim.name: lock_of(self._prefix, claim.name)}))[claim.name]
        member = view.find((claim.holder.id, claim.serial))
        return view, member if member is not None and member.token == claim.token else None

    def _do(self, view: View, operations: list[Operation]) -> bool:
        found = self._store.transact([*operations, tree(view.key)])
        if isinstance(found, Conflict):
            return False
        self._line.settle(self._line.views_of({view.name: view.key}, found))
        return True
