# Generated from src/fencepost/engines/consul/_async/register.py by tools/unasync.py. Do not edit: run `make gen`.
"""What operators see and do: who holds what, and taking it away, on the record."""

from collections.abc import Sequence

from fencepost.contract.answer import Snapshot, Standing
from fencepost.core.claim import Claim
from fencepost.core.name import is_name
from fencepost.engines.consul._sync.line import Line
from fencepost.engines.consul._sync.store import Store
from fencepost.engines.consul.audit import Removal, evictions_of, read_audit, write_audit
from fencepost.engines.consul.key import AUDIT, LOCK, lock_of, name_of, path_of, place_of, split
from fencepost.engines.consul.scene import View, view_of
from fencepost.engines.consul.transaction import (
    MOST_OPERATIONS,
    Conflict,
    Pair,
    change,
    delete,
    one,
    tree,
    unchanged,
)
from fencepost.errors import Unavailable

MOST_ATTEMPTS = 100
# Each takes three operations of a transaction, and two more go along.
MOST_EVICTED = (MOST_OPERATIONS - 2) // 3


class Register:
    def __init__(self, store: Store, line: Line, prefix: str) -> None:
        self._store = store
        self._line = line
        self._prefix = prefix
        self._audit = prefix + AUDIT

    def removals(self) -> list[Removal]:
        return read_audit((self._store.read([one(self._audit)])).get(self._audit))

    def look(self, name: str) -> Snapshot:
        key, audit = lock_of(self._prefix, name), self._audit
        found = self._store.read([tree(key), one(audit)])
        view = (self._line.settle(self._line.views_of({name: key}, found)))[name]
        now = self._store.now()
        removals = read_audit(found.get(audit))
        standings = [self._standing_of(view, claim, now) for claim in view.claims()]
        return Snapshot(
            name,
            holders=tuple(each for each in standings if each.claim.token is not None),
            waiters=tuple(each for each in standings if each.claim.token is None),
            evictions=evictions_of(name, removals, now),
        )

    def _standing_of(self, view: View, claim: Claim, now: float) -> Standing:
        """What is left of a lease consul does not say: at most all of it."""
        member = view.find((claim.holder.id, claim.serial))
        if member is None:
            return Standing(claim, 0.0, 0.0)
        priority = member.record.request.priority if claim.token is None else 0
        return Standing(claim, max(0.0, now - member.record.at), member.record.ttl, priority)

    def names(self, prefix: str) -> Sequence[str]:
        # As much of the prefix as its keys have in common with it for sure.
        folder, slash, _ = prefix.rpartition("/")
        found = self._store.list(self._prefix + path_of(folder) + slash if folder else self._prefix)
        locks: dict[str, dict[str, Pair]] = {}
        for key, pair in found.items():
            each = split(self._prefix, key)
            if each is not None:
                locks.setdefault(each, {})[key] = pair
        names = []
        for key, pairs in locks.items():
            name = name_of(key[len(self._prefix) : -len(LOCK)])
            view = view_of(name, key, pairs)
            if name.startswith(prefix) and is_name(name) and view.claims() and not view.foreign:
                names.append(name)
        return sorted(names)

    def evict(self, name: str, by: str) -> tuple[Claim, ...]:
        key, audit = lock_of(self._prefix, name), self._audit
        seen: list[Claim] = []
        evicted: list[Claim] = []
        for _ in range(MOST_ATTEMPTS):
            found = self._store.read([tree(key), one(audit)])
            view = (self._line.settle(self._line.views_of({name: key}, found)))[name]
            holding = [claim for claim in view.claims() if claim.token is not None]
            # Whoever was let in as the first of them went is not meant.
            seen = [claim for claim in holding if claim in seen] if evicted else holding
            if not seen or view.foreign:
                return tuple(evicted)
            taken = seen[:MOST_EVICTED]
            keys = {(claim.holder.id, claim.serial) for claim in taken}
            holders = [member.pair for member in view.holders if member.record.key in keys]
            pairs = holders or [pair for pair in (view.lock,) if pair is not None]
            operations = [each for pair in pairs for each in (unchanged(pair), delete(pair.key))]
            operations += [delete(place_of(key, claim.holder.id, claim.serial)) for claim in taken]
            now = self._store.now()
            removals = read_audit(found.get(audit))
            removals += [Removal(name, claim.token or 0, claim.holder.label, by, now) for claim in taken]
            operations.append(change(audit, found[audit].modified, write_audit(removals)))
            after = self._store.transact([*operations, tree(key)])
            if not isinstance(after, Conflict):
                self._line.settle(self._line.views_of({name: key}, after))
                evicted += taken
                if len(taken) == len(seen):
                    return tuple(evicted)
        raise Unavailable(f"consul changed too often under {MOST_ATTEMPTS} attempts to evict")
