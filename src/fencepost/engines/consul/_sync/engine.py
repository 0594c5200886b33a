# Generated from src/fencepost/engines/consul/_async/engine.py by tools/unasync.py. Do not edit: run `make gen`.
"""The engine on Consul: one session for each lease, one key for each lock, one transaction for each step.

What holds: a token is the index of the raft log at which the lock was granted, so that it grows for ever, also when the
key is deleted in between, a server restarts, or another leads. Waiters of fencepost are served in the order in which
they reached the leader; whoever releases makes the next one the holder in the same transaction. `consul lock` on the
same key excludes us, and we it; it has no place in our queue and gets the lock when nobody of ours waits.

Limits: a session ends between once and twice its time to live after its last renewal, or at once with the agent that
opened it; its locks are free for others a lock delay later, which is the ttl, and 60 s at most. Beside a read lock of
ours `consul lock` is kept out by the session of one of the readers; when that one dies, another steps in at a renewal.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import ClassVar

from fencepost._runtime import threads as runtime
from fencepost.contract.answer import Busy, Gone, Granted, Queued, Renewal, Snapshot
from fencepost.core.claim import Claim, Mode, Request, ahead
from fencepost.core.holder import Holder
from fencepost.core.traits import Traits
from fencepost.core.url import Url
from fencepost.engines.consul import shortcut
from fencepost.engines.consul._sync.cells import Cells
from fencepost.engines.consul._sync.departure import MOST_TOGETHER, Departure
from fencepost.engines.consul._sync.downgrade import Downgrade
from fencepost.engines.consul._sync.limit import Limit
from fencepost.engines.consul._sync.line import Line
from fencepost.engines.consul._sync.register import Register
from fencepost.engines.consul._sync.store import Store
from fencepost.engines.consul.address import SESSION_OVERRUN, TTL_MIN, locate
from fencepost.engines.consul.audit import why_gone
from fencepost.engines.consul.key import lock_of, place_of
from fencepost.engines.consul.lease import Entry, Lease
from fencepost.engines.consul.record import MOST_ALONE, MOST_SHARED, is_grantable, read
from fencepost.engines.consul.scene import View, is_held, is_open_to, own_lock, queue_up, seize, tokens_of
from fencepost.engines.consul.transaction import (
    MOST_OPERATIONS,
    Conflict,
    Operation,
    Pair,
    at_index,
    delete,
    one,
    tree,
    unchanged,
)
from fencepost.errors import EngineError, Refused, Unavailable

# How many claims one renewal looks after: as many as a transaction can read.
MOST_LOOKS = 60
MOST_ATTEMPTS = 100
LOST = "the engine no longer has it"
ENDED = "consul has no session of this holder: it ended"
CLOSED = "the lease was closed"


class ConsulEngine:
    traits: ClassVar[Traits] = Traits(
        scope="network",
        fencing="strict",
        survives="minority",
        order="arrival",
        death="lease",
        priority=True,
        cells=True,
        ttl_floor=TTL_MIN,
        overrun=SESSION_OVERRUN + 1.0,
        neighbours=("consul lock",),
    )

    def __init__(self, url: Url, *, clock: runtime.Clock, patience: float) -> None:
        self._address = locate(url)
        self._patience = patience
        floor, overrun = self._address.ttl_min, self._address.overrun
        if (floor, overrun) != (TTL_MIN, self.traits.overrun):
            vars(self)["traits"] = replace(self.traits, ttl_floor=floor, overrun=overrun)
        self._prefix = self._address.prefix
        self._store = Store(self._address, patience)
        self._line = Line(self._store, self._prefix, clock)
        self._register = Register(self._store, self._line, self._prefix)
        self._departure = Departure(self._store, self._line, self._prefix)
        self._downgrade = Downgrade(self._store, self._line, self._departure, self._prefix)
        self._leases: dict[str, Lease] = {}
        self.cells = Cells(self._store, self._prefix)

    def check_ttl(self, ttl: float) -> None:
        self._address.check_ttl(ttl)

    # Leases

    def lease_open(self, holder: Holder, ttl: float) -> None:
        lease = Lease(holder, ttl, self._prefix)
        name = f"fencepost {holder.id} {holder.label}"
        lease.session = self._store.session_create(self._address.session(name, ttl))
        self._leases[holder.id] = lease
        found = self._store.transact(lease.new_epoch())
        if isinstance(found, Conflict):
            raise Unavailable(f"consul ended the session as it began: {found}")
        lease.begin(found[lease.key].modified)

    def lease_renew(self, holder: Holder, ttl: float, claims: Collection[Claim]) -> Renewal:
        lease = self._leases.get(holder.id)
        if lease is None:
            return Renewal(alive=False)
        if not self._store.session_renew(lease.session):
            self._forget(lease, ENDED)
            return Renewal(alive=False)
        return Renewal(True, tuple(self._gone(lease, claims))) if claims else Renewal(True)

    def _gone(self, lease: Lease, claims: Collection[Claim]) -> list[tuple[int, str, str]]:
        """Which of the claims consul does not have any more. With very many of them, each renewal looks at some."""
        looked = lease.next_looks(list(claims), MOST_LOOKS)
        keys = [self._keys_of(claim, lease) for claim in looked]
        shared = {claim.name: lock_of(self._prefix, claim.name) for claim in looked if claim.ask.mode != Mode.EXCLUSIVE}
        found = self._store.read([one(key) for key in {*chain(*keys), *shared.values()}])
        if any(not found[key].session for key in shared.values()):
            # The one of us who kept others out has died: let another do so.
            self._line.settle(self._line.views(shared))
        amiss = [
            claim
            for claim, those in zip(looked, keys, strict=True)
            if not any(is_held(found[key], claim.token) for key in those)
        ]
        if not amiss:
            return []
        removals = self._register.removals()
        for claim in amiss:
            lease.drop(claim.serial, claim.name)
        try:
            self._departure.clear(lease, amiss)
        except EngineError:
            # The loss is told all the same, and whoever then gives it up has it cleared.
            pass
        return [(each.serial, each.name, why_gone(each.name, each.token, removals) or LOST) for each in amiss]

    def lease_close(self, holder: Holder) -> None:
        lease = self._leases.get(holder.id)
        if lease is not None and lease.session:
            try:
                self._forget(lease, CLOSED)
                if self._address.behavior != "delete" or self._address.delay(lease.ttl):
                    self._give_back_all(lease)
                self._store.session_destroy(lease.session)
            except EngineError:
                raise
            except BaseException:
                # Whoever is interrupted here closes it again, and then it must be known what is to be given back.
                self._leases[holder.id] = lease
                raise
            return
        # Opening it was not answered: it may be there all the same.
        for session, name in self._store.sessions():
            if name.startswith(f"fencepost {holder.id} "):
                self._store.session_destroy(session)

    def _give_back_all(self, lease: Lease) -> None:
        """What a session still has when it is destroyed is kept from others for its lock delay, or left behind."""
        held = list(chain.from_iterable(map(lease.held_alone, list(lease.entries.values()))))
        for start in range(0, len(held), MOST_TOGETHER):
            self._departure.release_all(lease, held[start : start + MOST_TOGETHER])
        for entry in list(lease.entries.values()):
            self._leave(lease, entry.request)
        self._store.transact([delete(lease.key)])

    # Claims

    def claim(self, request: Request, *, wait: bool) -> Granted | Queued | Busy | Gone:
        with self._within():
            return self._claim(request, wait=wait)

    def _claim(self, request: Request, *, wait: bool) -> Granted | Queued | Busy | Gone:
        lease = self._leases.get(request.holder.id)
        if lease is None:
            return Gone(ENDED)
        if not is_grantable(request.asks):
            # Waiting for them it would keep all others from being granted anything.
            most = f"{MOST_OPERATIONS // MOST_ALONE} to hold alone, {MOST_OPERATIONS // MOST_SHARED} to share"
            raise Refused(f"{len(request.asks)} names are more than consul grants at once: ask for fewer ({most})")
        entry = lease.entries.get(request.serial)
        known = entry is not None or lease.is_in_doubt(request.serial)
        if entry is None:
            entry = lease.entries[request.serial] = Entry(request, self._prefix)
        tried = wait and self._line.is_busy(entry.locks)
        try:
            for _ in range(MOST_ATTEMPTS):
                views = self._standing(lease, entry) if known else None
                if views is None and not tried:
                    taken = self._seize(lease, entry)
                    if isinstance(taken, Conflict):
                        tried = not self._is_outdated(lease, taken)
                    elif taken is not None:
                        entry.grant(taken)
                        return Granted(taken)
                    else:
                        tried = True
                if views is None and tried:
                    views = self._enter(lease, entry, wait=wait)
                if views is not None:
                    return self._answer(lease, entry, views, wait=wait)
                if lease.holder.id not in self._leases:
                    return Gone(ENDED)
                known = True
        except BaseException:
            # It may still be on its way: see `Lease`.
            lease.doubt(request.serial)
            raise
        raise Unavailable(f"consul changed too often under {MOST_ATTEMPTS} attempts to claim")

    def _standing(self, lease: Lease, entry: Entry) -> Mapping[str, View] | None:
        """How a request stands that was sent before; None if nothing is there of it, or no longer all of it."""
        found = self._transact(lease, entry.request, [tree(key) for key in entry.locks.values()])
        if isinstance(found, Conflict):
            # The session has ended.
            return None
        views = self._line.settle(self._line.views_of(entry.locks, found))
        members = [views[name].find(entry.key) for name in entry.locks]
        if all(members):
            return views
        if any(members):
            self._give_back(entry.request, lease)
        # What it may have been told of is not so any more.
        entry.tokens = None
        return None

    def _seize(self, lease: Lease, entry: Entry) -> tuple[int, ...] | Conflict | None:
        """Take all at once if nobody is there: the tokens. None if it was taken, and had to be given back."""
        request, locks = entry.request, entry.locks
        if shortcut.is_short(request):
            sent = shortcut.claim(lease, request, locks[request.asks[0].name], self._store.now())
            response = self._store.send(sent)
            token = shortcut.token_of(response.body) if response.status == 200 else None
            if token is not None:
                return (token,)
            found = self._store.outcome(json.loads(sent), response)
        else:
            taking = seize(lease.record(request, self._store.now()), lease.session, locks)
            trees = [tree(key) for key in locks.values()]
            found = self._store.transact([at_index(lease.key, lease.epoch), *taking, *trees])
        if isinstance(found, Conflict):
            return found
        views = self._line.views_of(locks, found)
        if not any(view.waiters or view.wrong for view in views.values()):
            return tokens_of(request, views)
        # Somebody was waiting unseen, as after a death: it goes first.
        self._give_back(request, lease, found)
        return None

    def _enter(self, lease: Lease, entry: Entry, *, wait: bool) -> Mapping[str, View] | None:
        """Take a place in the queue. None if it has to be tried again."""
        if not wait:
            views = self._line.settle(self._line.views(entry.locks))
            if not is_open_to(entry.request, views):
                return views
        entry.queued = True
        places = queue_up(lease.record(entry.request, self._store.now()), lease.session, entry.locks.values())
        trees = [tree(key) for key in entry.locks.values()]
        found = self._store.transact([at_index(lease.key, lease.epoch), *places, *trees])
        if isinstance(found, Conflict):
            if not self._is_outdated(lease, found):
                self._check_places(entry)
            return None
        entry.since = max(found[entry.place(name)].created for name in entry.locks)
        return self._line.settle(self._line.views_of(entry.locks, found))

    def _check_places(self, entry: Entry) -> None:
        """What stands where the request wants its place is its own, or of another client: that would never go."""
        found = self._store.read([one(entry.place(name)) for name in entry.locks])
        for pair in found.values():
            record = read(pair.value) if pair.modified else None
            if pair.modified and (record is None or record.key != entry.key):
                raise Refused(f"'{pair.key}' in consul was overwritten by another client: acquire it again")

    def _is_outdated(self, lease: Lease, conflict: Conflict) -> bool:
        """Whether the lease was what stood in the way; then it is brought up to date, or found to have ended."""
        if 0 not in conflict.reasons and not conflict.says("invalid session", lease.session):
            return False
        found = (self._store.read([one(lease.key)]))[lease.key]
        if found.session != lease.session:
            self._forget(lease, ENDED)
        lease.begin(found.modified)
        return True

    def _answer(
        self, lease: Lease, entry: Entry, views: Mapping[str, View], *, wait: bool
    ) -> Granted | Queued | Busy | Gone:
        request = entry.request
        tokens = tokens_of(request, views)
        if tokens is not None:
            entry.grant(tokens)
            self._line.leave(entry)
            return Granted(tokens)
        for view in views.values():
            if view.foreign:
                lease.entries.pop(request.serial, None)
                self._give_back(request, lease)
                raise Refused(f"'{view.key}' in consul is no lock, but something else's: use another prefix")
        seen = tuple(
            claim for name in entry.locks for claim in ahead(views[name].claims(), request.holder, request.serial)
        )
        if wait:
            self._line.join(entry)
            return Queued(request, seen, entry)
        lease.entries.pop(request.serial, None)
        if any(view.find(entry.key) for view in views.values()):
            self._give_back(request, lease)
        return Busy(seen)

    def wait(self, queued: Queued, timeout: float) -> Granted | Queued | Gone:
        entry: Entry = queued.place
        outcome = self._line.wait(entry, timeout)
        if outcome is not None:
            return outcome
        request = queued.request
        lease = self._leases.get(request.holder.id)
        if lease is None or entry.over is not None:
            return Gone(entry.over or ENDED)
        # The time is over, or its place is gone, as when it was granted and evicted before it heard of that. Look once.
        entry.lost = False
        answer = self.claim(request, wait=True)
        return Gone(ENDED) if isinstance(answer, Busy) else answer

    def withdraw(self, request: Request) -> None:
        lease = self._leases.get(request.holder.id)
        entry = None if lease is None else lease.entries.pop(request.serial, None)
        if entry is not None:
            self._line.leave(entry)
            entry.end("the request was withdrawn")
        self._leave(lease, request)

    def _leave(self, lease: Lease | None, request: Request) -> None:
        """Leave nothing of the request for good, and let whoever is next have what it held."""
        locks = [lock_of(self._prefix, ask.name) for ask in request.asks]
        places = [delete(place_of(each, request.holder.id, request.serial)) for each in locks]
        found = self._transact(lease, request, [*places, *(tree(each) for each in locks)])
        self._give_back(request, None, None if isinstance(found, Conflict) else found)

    def _give_back(
        self, request: Request, insisting: Lease | None, found: Mapping[str, Pair] | None = None
    ) -> None:
        """Remove what is there of the request, and let whoever is next have it. If the request may come again, this
        insists on the epoch of the lease: it could arrive after that."""
        key = (request.holder.id, request.serial)
        locks = {ask.name: lock_of(self._prefix, ask.name) for ask in request.asks}
        trees = [tree(each) for each in locks.values()]
        for _ in range(MOST_ATTEMPTS):
            if found is None:
                found = self._store.read(trees)
            held = [pair for each in locks.values() if (pair := own_lock(found.get(each), key)) is not None]
            own = held or [pair for each in locks.values() if (pair := found.get(place_of(each, *key))) is not None]
            if not own:
                self._line.settle(self._line.views_of(locks, found))
                return
            removals = [operation for pair in own for operation in (unchanged(pair), delete(pair.key))]
            epoch = [] if insisting is None else [at_index(insisting.key, insisting.epoch)]
            after = self._store.transact([*epoch, *removals, *trees])
            found = None if isinstance(after, Conflict) else after
            if isinstance(after, Conflict) and insisting is not None:
                self._is_outdated(insisting, after)
                if insisting.holder.id not in self._leases:
                    # What a session leaves that has ended is removed by whoever comes.
                    return
        raise Unavailable(f"consul changed too often under {MOST_ATTEMPTS} attempts to withdraw")

    def release(self, claim: Claim) -> bool:
        lease = self._leases.get(claim.holder.id)
        with self._within():
            if lease is not None and lease.is_shared(claim.serial):
                return self._downgrade.release(lease, claim)
            return self._departure.release(lease, claim)

    def release_all(self, claims: Sequence[Claim]) -> tuple[bool, ...]:
        lease = self._leases.get(claims[0].holder.id)
        with self._within():
            if lease is not None and lease.is_shared(claims[0].serial):
                return tuple([self._downgrade.release(lease, claim) for claim in claims])
            return self._departure.release_all(lease, claims)

    def share(self, claim: Claim) -> bool:
        with self._within():
            return self._downgrade.share(self._leases.get(claim.holder.id), claim)

    # What operators see and do

    def look(self, name: str) -> Snapshot:
        return self._register.look(name)

    def names(self, prefix: str) -> Sequence[str]:
        return self._register.names(prefix)

    def evict(self, name: str, by: str) -> tuple[Claim, ...]:
        return self._register.evict(name, by)

    def close(self) -> None:
        self.cells.close()
        for lease in list(self._leases.values()):
            self._forget(lease, "the session was closed")
        self._line.close()
        self._store.close()

    # Inside

    def _within(self) -> Limit:
        """A call takes as many exchanges as others get in its way: all of them together have the time of one."""
        return Limit(self._patience)

    def _keys_of(self, claim: Claim, lease: Lease) -> list[str]:
        """The key that tells whether the claim is held; either, if it may or may not have gone on as a reader."""
        lock = lock_of(self._prefix, claim.name)
        place = place_of(lock, claim.holder.id, claim.serial)
        if lease.is_shared(claim.serial):
            return [lock, place]
        return [lock if claim.ask.mode is Mode.EXCLUSIVE else place]

    def _transact(
        self, lease: Lease | None, request: Request, operations: list[Operation]
    ) -> dict[str, Pair] | Conflict:
        """A transaction after which nothing of the request that is still on its way has an effect any more.

        What it is to do never fails: it is a conflict if the session has ended, and with it all of its keys.
        """
        if lease is None or not lease.is_in_doubt(request.serial):
            return self._store.transact(operations)
        found = self._store.transact([*operations, *lease.new_epoch()])
        if not isinstance(found, Conflict):
            lease.begin(found[lease.key].modified)
        elif found.says("invalid session", lease.session):
            self._forget(lease, ENDED)
        else:
            raise Unavailable(f"consul began no new epoch: {'; '.join(found.reasons.values())}")
        return found

    def _forget(self, lease: Lease, reason: str) -> None:
        self._leases.pop(lease.holder.id, None)
        self._line.end(lease.entries.values(), reason)


Engine = ConsulEngine
