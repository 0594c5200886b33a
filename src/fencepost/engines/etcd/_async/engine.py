# Written by hand; the blocking twin under _sync is generated from it.
"""The engine on etcd.

What holds: the contenders for a name stand in the order in which etcd created their keys, and that revision is the
token. Revisions only grow, for the cluster as a whole, whatever happens to a minority of it. A waiter is told by a
watch that is open before it takes its place, and is granted only if its own key was still there when the last one
before it left.

Limits: etcd counts leases in whole seconds, from the answer of its leader, and looks for ended ones twice a second.
"""

import math
import secrets
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import ClassVar, TypeVar

from fencepost._runtime import aio as runtime
from fencepost.contract.answer import Busy, Gone, Granted, Queued, Renewal, Snapshot
from fencepost.core.claim import Claim, Request
from fencepost.core.holder import Holder
from fencepost.core.malformed import Malformed
from fencepost.core.traits import Traits
from fencepost.core.url import Url
from fencepost.drivers.etcd import request as ask
from fencepost.drivers.etcd._async.client import AsyncClient
from fencepost.drivers.etcd.answer import Outcome
from fencepost.drivers.etcd.endpoint import Endpoints
from fencepost.drivers.etcd.trouble import NO_SPACE
from fencepost.drivers.etcd.wire import aio as wire
from fencepost.drivers.tls import TLS_OPTIONS
from fencepost.engines.etcd import key, queue, step
from fencepost.engines.etcd._async.cells import AsyncCells
from fencepost.engines.etcd._async.lookout import AsyncLookout
from fencepost.engines.etcd.key import Place
from fencepost.engines.etcd.lease import Entry, Lease
from fencepost.engines.etcd.record import Contender, eviction_of
from fencepost.engines.etcd.sight import Sight
from fencepost.engines.etcd.watchtower import Watchtower
from fencepost.errors import EngineError, Refused, Unavailable

PAGE = 5_000
# Of the 128 operations that a transaction has, unless a server is told otherwise.
BATCH = 100
MOST_PLACES = 10_000
MOST_EVICTIONS = 100
# How often a request takes other keys, where somebody else writes those that it would have.
MOST_MOVES = 10
# An eviction is on record for a week: on a lease of its own, which also tells how old it is.
AUDIT_SECONDS = 7 * 24 * 3600
LOST = "the engine no longer has it"
FORGOTTEN = "etcd has no lease of this holder: it ended, or was revoked"
WITHDRAWN = "the request was withdrawn"
Queues = dict[str, list[Contender]]
T = TypeVar("T")


class AsyncEtcdEngine:
    traits: ClassVar[Traits] = Traits(
        scope="network",
        fencing="strict",
        survives="minority",
        order="arrival",
        death="lease",
        cells=True,
        ttl_floor=1.0,
        neighbours=("etcdctl",),
    )

    def __init__(self, url: Url, *, clock: runtime.Clock, patience: float) -> None:
        url.check_options("prefix", *(TLS_OPTIONS if url.scheme == "etcds" else ()))
        self._prefix = url.options.get("prefix", "")
        self._client = AsyncClient(Endpoints(url), patience)
        self._step = step.Step(self._prefix)
        self._now = clock.now
        self._leases: dict[str, Lease] = {}
        self._places: dict[str, Place] = {}
        self._tower = Watchtower(clock.now)
        self._ear = wire.Ear(self._tower.hear, self._tower.drop_all)
        self._lookout = AsyncLookout(self._tower, self._ear, self._client.link, now=clock.now, patience=patience)
        self._sight = Sight(clock.now)
        self.cells = AsyncCells(self._client, self._prefix)

    # Leases

    async def lease_open(self, holder: Holder, ttl: float) -> None:
        lease = Lease(holder)
        await self._client.lease_grant(lease.id, math.ceil(ttl))
        self._leases[holder.id] = lease

    async def lease_renew(self, holder: Holder, ttl: float, claims: Collection[Claim]) -> Renewal:
        lease = self._leases.get(holder.id)
        if lease is None:
            return Renewal(alive=False)
        seconds, keys = await self._client.lease_keep_alive(lease.id, listed=bool(claims))
        if seconds <= 0:
            self._forget(lease, FORGOTTEN)
            return Renewal(alive=False)
        await self._lookout.tidy()
        there, gone = set(keys), []
        for claim in claims:
            entry = lease.entries.get(claim.serial)
            if entry is None or claim.name not in entry.held:
                gone.append((claim.serial, claim.name, LOST))
                continue
            own, is_this = entry.key_of(claim.name), entry.created == claim.token
            # The key may be there for the same request, asked again or arrived late: that is not this claim.
            unsure = own not in there or not is_this or entry.doubts
            if unsure and (why := await self._why_gone(lease, claim, own)):
                gone.append((claim.serial, claim.name, why))
                if is_this and await self._is_ended(lease, entry, claim.name):
                    lease.drop(entry, claim.name)
        return Renewal(True, tuple(gone))

    async def _why_gone(self, lease: Lease, claim: Claim, own: bytes) -> str | None:
        """Why a claim is gone that was not in the list; None if it is not: a list may be older than the claim."""
        found = await self._commit(self._step.inquire(lease, own, claim.name, claim.token or 0))
        if found.succeeded:
            return None
        records = found.reads(1)[0].pairs
        return f"evicted by {eviction_of(records[0].value).by}" if records else LOST

    async def _is_ended(self, lease: Lease, entry: Entry, name: str) -> bool:
        """Have nothing left of what was found gone. If that cannot be now, its loss is told all the same, and whoever
        then gives it up removes it."""
        try:
            if entry.doubts:
                await self._give_up(entry, partial(self._step.end, lease, entry, name))
        except EngineError:
            return False
        return True

    async def lease_close(self, holder: Holder) -> None:
        lease = self._leases.get(holder.id) or Lease(holder)
        self._forget(lease, "the lease was closed")
        await self._client.lease_revoke(lease.id)

    # Claims

    async def claim(self, request: Request, *, wait: bool) -> Granted | Queued | Busy | Gone:
        lease = self._leases.get(request.holder.id)
        if lease is None:
            return Gone(FORGOTTEN)
        entry = lease.entries.get(request.serial)
        if entry is None:
            entry = lease.note(request, [self._place(each.name) for each in request.asks])
        elif entry.created:
            return await self._check(lease, entry, wait)
        return await self._ask(lease, entry, wait)

    async def _ask(
        self, lease: Lease, entry: Entry, wait: bool, *, beside: bool = False
    ) -> Granted | Queued | Busy | Gone:
        """Send the claim. It takes a place if that is to be waited in, or if there is room `beside` those who hold."""
        epoch = lease.epoch
        entry.doubts += 1
        outcome = await self._client.commit(self._step.claim(lease, entry, epoch, wait=wait or beside))
        entry.doubts -= 1
        if outcome is None:
            self._forget(lease, FORGOTTEN)
            return Gone(FORGOTTEN)
        if outcome.succeeded:
            # The transaction made the key, so that its own revision is the key's create revision.
            return self._grant(entry, outcome.revision)
        queues = step.queues_of(outcome, entry.places)
        if (wait or beside) and not entry.is_in(queues):
            outdated = entry.over is None and await self._is_outdated(lease, epoch)
            if entry.over is not None:
                return Gone(entry.over)
            if not outdated:
                entry = await self._move(lease, entry)
            return await self._ask(lease, entry, wait, beside=beside)
        return await self._judge(lease, entry, queues, outcome.revision, wait)

    async def _is_outdated(self, lease: Lease, epoch: int) -> bool:
        """Whether another epoch has begun, as some other request was given up."""
        if lease.epoch == epoch:
            found = await self._client.read(self._step.epoch_of(lease))
            lease.begin(max((pair.modified for pair in found.pairs), default=0))
        return lease.epoch != epoch

    async def _move(self, lease: Lease, entry: Entry) -> Entry:
        """Somebody else has written what stands under its keys: it takes others."""
        if entry.moves >= MOST_MOVES:
            raise Refused(f"somebody else writes the keys of this session, such as {entry.keys[0]!r}")
        if entry.doubts:
            for place in entry.places:
                await self._give_up(entry, partial(self._step.end, lease, entry, place.name))
        return lease.move(entry)

    async def _check(self, lease: Lease, entry: Entry, wait: bool) -> Granted | Queued | Busy | Gone:
        """How a request stands that had its place: asked again, or told that something has changed."""
        queues, revision = await self._read(entry.places)
        if self._ear.is_elsewhere(self._client.link.endpoints.current):
            # The member we listened at has failed us in other calls: it may never say anything any more.
            self._ear.close()
        if not self._ear.is_open:
            self._tower.drop_deaf()
        if entry.is_in(queues):
            return await self._judge(lease, entry, queues, revision, wait)
        if entry.is_overwritten(queues):
            # It still counts, and would be in our own way.
            await self._remove(lease, entry, for_good=False)
        return await self._start_again(lease, entry, wait)

    async def _start_again(self, lease: Lease, entry: Entry, wait: bool) -> Granted | Queued | Busy | Gone:
        """All or part of it was evicted or overwritten, and what is left is removed: it comes anew, with keys that are
        free now."""
        self._tower.leave(entry)
        return await self._ask(lease, lease.note_again(entry), wait)

    async def _judge(
        self, lease: Lease, entry: Entry, queues: Queues, revision: int, wait: bool
    ) -> Granted | Queued | Busy | Gone:
        own = [each for place in entry.places for each in queues[place.name] if entry.is_own(each)]
        if own and len(own) < len(entry.places):
            # Part of it was evicted before its holder heard of the grant. All or none.
            entry.created = own[0].created
            await self._remove(lease, entry, for_good=False)
            return await self._start_again(lease, entry, wait)
        if queue.unknown(queues):
            queues, revision = await self._read(entry.places)
        if own:
            entry.created = own[0].created
            if queue.is_granted(queues, entry.who, entry.request.asks):
                return self._grant(entry, entry.created)
        names = [place.name for place in entry.places]
        seen = queue.in_the_way(queues, names, entry.who)
        if not wait:
            if not own and self._would_be_granted(lease, entry, queues):
                return await self._ask(lease, entry, wait, beside=True)
            if own or entry.doubts:
                await self._remove(lease, entry)
            lease.drop(entry)
            return Busy(seen)
        if not self._tower.station(entry, queues, revision):
            await self._lookout.open([self._place(name) for name in queues], for_readers=entry.is_reader)
            return await self._check(lease, entry, wait)
        return Queued(entry.request, seen, entry)

    def _grant(self, entry: Entry, revision: int) -> Granted:
        self._tower.leave(entry)
        entry.created = revision
        return Granted((revision,) * len(entry.places))

    def _would_be_granted(self, lease: Lease, entry: Entry, queues: Queues) -> bool:
        """Whether there is room beside those who hold, as there is for readers."""
        holder, serial, asks, _ = entry.request
        names = tuple(each.name for each in asks)
        with_us = dict(queues)
        for own, each in zip(entry.keys, asks, strict=True):
            ours = Contender(own, 1 << 63, lease.id, holder, serial, each, names)
            with_us[each.name] = [*queues[each.name], ours]
        return entry.who in queue.granted(with_us)

    async def wait(self, queued: Queued, timeout: float) -> Granted | Queued | Gone:
        until = self._now() + timeout
        while True:
            entry: Entry = queued.place
            if entry.over is None:
                await self._ear.wait(entry.waiter, until)
            if entry.over is not None:
                return Gone(entry.over)
            if self._tower.has_won(entry):
                return self._grant(entry, entry.created)
            # Something else has changed, or time is over: how it stands is read, not guessed.
            answer = await self.claim(queued.request, wait=True)
            if not isinstance(answer, Queued):
                return Gone(WITHDRAWN) if isinstance(answer, Busy) else answer
            if self._now() >= until:
                return answer
            queued = answer

    async def withdraw(self, request: Request) -> None:
        lease = self._leases.get(request.holder.id)
        entry = None if lease is None else lease.entries.get(request.serial)
        # Of a lease that is gone nothing is left, and what was never asked is not there.
        if lease is not None and entry is not None:
            # Whatever becomes of this: a claim that is under way is not to be sent again.
            entry.over = WITHDRAWN
            try:
                await self._remove(lease, entry)
            except Refused:
                # For good: nobody asks again.
                lease.drop(entry)
                raise
            lease.drop(entry)

    async def _remove(self, lease: Lease, entry: Entry, *, for_good: bool = True) -> None:
        self._tower.leave(entry)
        for parts in _batches([*zip(entry.keys, entry.request.asks, strict=True)]):
            await self._give_up(entry, partial(self._step.withdraw, lease, entry, parts, for_good=for_good))

    async def release(self, claim: Claim) -> bool:
        lease, entry = self._held(claim)
        if lease is None or entry is None:
            return False
        release = partial(self._step.release, lease, entry, claim.name, claim.token or 0)
        outcome = await self._give_up(entry, release)
        if outcome is not None and (outcome.succeeded or entry.created == claim.token):
            lease.drop(entry, claim.name)
        return outcome is not None and outcome.succeeded

    async def release_all(self, claims: Sequence[Claim]) -> tuple[bool, ...]:
        lease = self._leases.get(claims[0].holder.id)
        entry = None if lease is None else lease.entries.get(claims[0].serial)
        tokens = {} if entry is None else {each.name: each.token or 0 for each in claims if each.name in entry.held}
        if lease is None or entry is None or not tokens:
            return (False,) * len(claims)
        done: dict[str, bool] = {}
        for batch in _batches([*tokens.items()]):
            outcome = await self._give_up(entry, partial(self._step.release_all, lease, entry, dict(batch)))
            if outcome is None:
                break
            for (name, token), part in zip(batch, outcome.nested(len(batch)), strict=True):
                done[name] = part.succeeded
                if part.succeeded or entry.created == token:
                    lease.drop(entry, name)
        return tuple(done.get(claim.name, False) for claim in claims)

    async def share(self, claim: Claim) -> bool:
        lease, entry = self._held(claim)
        if lease is None or entry is None:
            return False
        entry.shared = True
        outcome = await self._client.commit(self._step.share(lease, entry, claim))
        return outcome is not None and outcome.succeeded

    def _held(self, claim: Claim) -> tuple[Lease | None, Entry | None]:
        lease = self._leases.get(claim.holder.id)
        entry = None if lease is None else lease.entries.get(claim.serial)
        return (lease, entry) if entry is not None and claim.name in entry.held else (None, None)

    # What operators see and do

    async def look(self, name: str) -> Snapshot:
        queues, _ = await self._read([self._place(name)])
        selected = ask.select(*_range(key.evictions(self._prefix, name)), latest=True, limit=MOST_EVICTIONS)
        records = (await self._client.read(selected)).pairs
        leases = list(dict.fromkeys([*(each.lease for each in queues[name]), *(pair.lease for pair in records)]))
        known = dict(zip(leases, await self._client.leases(leases), strict=True))
        return self._sight.snapshot(name, queues, records, known)

    async def names(self, prefix: str) -> Sequence[str]:
        start, end = _range((self._prefix + prefix).encode())
        found: set[str] = set()
        while True:
            page = await self._client.read(ask.select(start, end, keys_only=True, limit=PAGE))
            likely = [pair for pair in page.pairs if key.is_likely(pair.key)]
            # From version 3.7 on etcd does not say the lease along with the keys alone.
            unsure = [pair.key for pair in likely if not pair.lease]
            for batch in _batches(unsure):
                outcome = await self._commit(ask.transaction([], [ask.read(ask.select(each)) for each in batch]))
                likely += [pair for part in outcome.reads(len(batch)) for pair in part.pairs]
            found.update(name for pair in likely if (name := key.name_of(pair, self._prefix)) is not None)
            if not page.more:
                return sorted(name for name in found if name.startswith(prefix))
            if not page.pairs:
                raise Malformed(f"etcd at {self._client.link.endpoints} has more keys, and tells none")
            start = page.pairs[-1].key + b"\0"

    async def evict(self, name: str, by: str) -> tuple[Claim, ...]:
        queues, _ = await self._read([self._place(name)])
        holders = queue.granted(queues)
        taken = [(each.key, each.claim(granted=True)) for each in queues[name] if each.request in holders]
        if not taken:
            return ()
        audit = secrets.randbits(62) + 1
        await self._client.lease_grant(audit, AUDIT_SECONDS)
        evicted: list[Claim] = []
        try:
            for batch in _batches(taken):
                parts = (await self._commit(self._step.evict(batch, by, audit))).nested(len(batch))
                evicted += [claim for (_, claim), part in zip(batch, parts, strict=True) if part.succeeded]
        except Refused:
            if not evicted:
                await self._forgo(audit)
            raise
        if not evicted:
            await self._forgo(audit)
        return tuple(evicted)

    async def close(self) -> None:
        self.cells.close()
        for lease in list(self._leases.values()):
            self._forget(lease, "the session was closed")
        self._ear.close()
        self._client.close()

    # Inside

    async def _give_up(self, entry: Entry, words: Callable[..., bytes]) -> Outcome | None:
        """Commit what gives something back. etcd that is full takes no mark: what is there goes without, and until
        there is room again nobody knows whether more arrives."""
        try:
            return await self._client.commit(words())
        except Refused as error:
            if not entry.doubts or NO_SPACE not in str(error):
                raise
            await self._client.commit(words(marked=False))
            raise Unavailable(str(error)) from error

    async def _forgo(self, lease: int) -> None:
        """Give back a lease that nothing was put on. Only where that is certain: what is on a lease goes with it."""
        try:
            await self._client.lease_revoke(lease)
        except EngineError:
            # It only takes up room until it ends.
            pass

    async def _read(self, places: Sequence[Place]) -> tuple[Queues, int]:
        """The queues of these names at one revision, and of all names that decide who holds them."""
        queues: Queues = {}
        revision, unread = 0, list(places)
        while unread:
            batch, unread = unread[:BATCH], unread[BATCH:]
            outcome = await self._commit(step.read_queues(batch, revision))
            revision = revision or outcome.revision
            queues |= step.queues_of(outcome, batch)
            unread = unread or [self._place(name) for name in sorted(queue.unknown(queues))]
        return queues, revision

    async def _commit(self, transaction: bytes) -> Outcome:
        outcome = await self._client.commit(transaction)
        if outcome is None:
            raise Unavailable("etcd lost a lease while it was being used")
        return outcome

    def _place(self, name: str) -> Place:
        place = self._places.get(name)
        if place is None:
            if len(self._places) >= MOST_PLACES:
                self._places.clear()
            place = self._places[name] = Place(self._prefix, name)
        return place

    def _forget(self, lease: Lease, reason: str) -> None:
        self._leases.pop(lease.holder.id, None)
        for entry in list(lease.entries.values()):
            entry.over = reason
            entry.waiter.stir()
            self._tower.leave(entry)


def _batches(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """As many at a time as a transaction takes, of which each makes one of its own."""
    return (items[place : place + BATCH] for place in range(0, len(items), BATCH))


def _range(prefix: bytes) -> tuple[bytes, bytes]:
    """All keys that start with `prefix`; for an empty one, all there are."""
    return prefix or b"\0", ask.prefix_end(prefix)


AsyncEngine = AsyncEtcdEngine
