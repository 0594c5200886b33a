# Written by hand; the blocking twin under _sync is generated from it.
"""The engine on Redis or Valkey.

What holds: each grant has a token above all earlier ones of its name, also after FLUSHALL, a restart without
persistence or a fail-over, as long as the server's clock is not set back further than the time since the last grant.
Waiters are served in the order in which they reached the server; a release makes the next one the holder and tells it.
A lock excludes every other client that uses `SET key value NX PX` on the same key.

Limits: replication is asynchronous, so a fail-over can leave two holders; their tokens are ordered, and a fence
refuses the older. `wait_replicas` makes that rarer, not impossible.
"""

import random
import secrets
from collections.abc import Collection, Sequence
from typing import ClassVar

from fencepost._runtime import aio as runtime
from fencepost.contract.answer import Busy, Gone, Granted, Queued, Renewal, Snapshot
from fencepost.core.backoff import backoff
from fencepost.core.claim import Claim, Request
from fencepost.core.holder import Holder
from fencepost.core.rate import Rate
from fencepost.core.traits import Traits
from fencepost.core.url import Url
from fencepost.engines.redis import record
from fencepost.engines.redis._async.cells import ADDRESSEE, AsyncCells
from fencepost.engines.redis._async.server import AsyncServer
from fencepost.engines.redis.address import count, locate
from fencepost.engines.redis.key import SINGLE, Place, Shard
from fencepost.engines.redis.lease import Entry, Lease, Subject, leave, members
from fencepost.engines.redis.resp import Reply
from fencepost.engines.redis.script import EVICT, LEAVE, LOOK, NAMES, OPEN, RELEASE, RELEASE_ALL, RENEW, SHARE, Script
from fencepost.engines.redis.waiter import Waiter, news_of
from fencepost.engines.redis.wire import aio as wire
from fencepost.errors import EngineError, Refused, Unavailable

AUDIT_LENGTH = 1000
MOST_PLACES = 10_000
RELEASE_HEAD = RELEASE.head(3, 1)
LOST = "the engine no longer has it"
FORGOTTEN = "redis has no lease of this holder: it ended, or the server lost its memory"

# A NamedTuple, without the two calls that its own constructor takes.
made = tuple.__new__


class AsyncRedisEngine:
    traits: ClassVar[Traits] = Traits(
        scope="network",
        fencing="clock",
        survives="restart",
        order="arrival",
        death="lease",
        priority=True,
        cells=True,
        meters=True,
        ttl_floor=0.05,
        neighbours=("redis-py",),
    )

    def __init__(self, url: Url, *, clock: runtime.Clock, patience: float) -> None:
        self._server = self._connect(url, patience)
        self._prefix = url.options.get("prefix", "")
        self._replicas = count(url, "wait_replicas")
        self._patience = patience
        self._now = clock.now
        self._leases: dict[str, Lease] = {}
        self._places: dict[str, Place] = {}
        self._ear = wire.Ear(f"fencepost-{secrets.token_hex(8)}", self._deliver)
        self.cells = AsyncCells(self._server, self._prefix, self._ear, self._listen)

    def _connect(self, url: Url, patience: float) -> AsyncServer:
        return AsyncServer(locate(url), patience)

    # Leases

    async def lease_open(self, holder: Holder, ttl: float) -> None:
        lease = Lease(holder, ttl, self._ear.channel)
        slot, shard = lease.home = self._home(holder)
        await self._server.run(OPEN, OPEN.pack([shard.lease(holder.id)], lease.ttl), slot)
        lease.slots[slot] = shard
        self._leases[holder.id] = lease

    async def lease_renew(self, holder: Holder, ttl: float, claims: Collection[Claim]) -> Renewal:
        lease = self._leases.get(holder.id)
        if lease is None:
            return Renewal(alive=False)
        lease.ttl = max(1, int(ttl * 1000))
        batches = lease.renewals()
        replies = await self._server.try_all(RENEW, [(batch.slot, batch.command) for batch in batches])
        missing = [reply for reply in replies if isinstance(reply, EngineError)]
        for batch, reply in zip(batches, replies, strict=True):
            # Where nothing is held there is nothing to lose, as long as anybody answers.
            if isinstance(reply, EngineError) and (len(missing) == len(batches) or not lease.skip(batch)):
                raise reply
        gone: dict[tuple[int, str], str] = {}
        for (slot, _, subjects, shard), reply in zip(batches, replies, strict=True):
            if isinstance(reply, EngineError):
                continue
            if reply == 0:
                lease.slots.pop(slot, None)
                amiss = [(subject, "") for subject in subjects]
            else:
                lease.slots[slot] = shard
                pairs = [] if reply == 1 else zip(reply[::2], reply[1::2], strict=True)
                amiss = [(_subject(subjects, position), reason.decode(errors="replace")) for position, reason in pairs]
            for subject, reason in amiss:
                lease.miss(subject)
                if reason != "+":
                    gone[subject.entry.request.serial, subject.name] = reason or LOST
        if not lease.slots:
            self._forget(lease, FORGOTTEN)
            return Renewal(alive=False)
        return Renewal(True, tuple((*key, gone.get(key, LOST)) for key in lease.lacking(claims, gone)))

    async def lease_close(self, holder: Holder) -> None:
        lease = self._leases.get(holder.id) or Lease(holder, 0, "")
        lease.home = self._home(holder)
        try:
            self._forget(lease, "the lease was closed")
            await self._server.run_all(LEAVE, [(batch.slot, batch.command) for batch in lease.closings()])
        except EngineError:
            raise
        except BaseException:
            # Whoever is interrupted here closes it again, and then it must be known what is to be given back.
            self._leases[holder.id] = lease
            raise

    # Claims

    async def claim(self, request: Request, *, wait: bool) -> Granted | Queued | Busy | Gone:
        holder, serial, asks, _ = request
        lease = self._leases.get(holder.id)
        if lease is None:
            return Gone(FORGOTTEN)
        entry = lease.entries.get(serial)
        if entry is None:
            name = asks[0].name
            places = [self._places.get(name) or self._place(name)]
            if len(asks) > 1:
                places += [self._place(ask.name) for ask in asks[1:]]
            entry = lease.note(request, places)
        elif wait and not self._ear.is_open:
            # It may have a place: asking without one would lose it.
            await self._listen()
        # Ask without a place first: where nobody is in the way there is nothing to listen for.
        listening = self._ear.is_open
        if wait and listening:
            if entry.waiter is None:
                # The message of a grant comes on another connection, and may be here before the answer with our place.
                entry.waiter = Waiter()
            else:
                # Or after it: of a grant that is over by then, and its place taken again.
                entry.waiter.doubt()
        epoch = lease.epochs.now
        place = entry.places[0]
        known = place.slot in lease.slots
        script, command = lease.claim(entry, wait=wait and listening, opens=not known)
        try:
            if self._replicas:
                reply = await self._run_on_replicas(script, command, entry)
            else:
                reply = await self._server.run(script, command, place.slot)
        except BaseException:
            # It may be on its way still: see lua/queue.lua.
            lease.epochs.advance()
            raise
        if not known:
            lease.slots[place.slot] = place.shard
        if type(reply) is int:
            if reply < 0:
                return self._queue(entry, (-1 - reply) / 1000, ())
            entry.tokens = {asks[0].name: reply}
            entry.waiter = entry.packed = None
            if place.slot in lease.slots:
                return made(Granted, ((reply,),))
            return await self._claim_again(entry, wait)
        if reply[0] == 1:
            granted = self._grant(entry, tuple(map(int, reply[1:])))
            return granted if place.slot in lease.slots else await self._claim_again(entry, wait)
        if reply[0] == -1:
            lease.slots.pop(place.slot, None)
            if not known:
                raise Unavailable("redis does not know a lease that this claim was to make known to it")
            if lease.slots:
                # It lives elsewhere, with what is held there: here it is opened anew.
                return await self.claim(request, wait=wait)
            self._forget(lease, FORGOTTEN)
            return Gone(FORGOTTEN)
        if reply[0] == -2:
            if epoch == lease.epochs.now:
                lease.epochs.advance()
                raise Unavailable("redis has heard more of this lease than we have said")
            # Another thread's claim went unanswered while this was on its way: it did nothing.
            return await self.claim(request, wait=wait)
        if wait and not listening:
            lease.entries.pop(serial, None)
            await self._listen()
            return await self.claim(request, wait=True)
        return self._refuse(lease, entry, reply, wait)

    async def _claim_again(self, entry: Entry, wait: bool) -> Granted | Queued | Busy | Gone:
        """Granted on a lease that a renewal has not reached meanwhile: it may end there before it ends for us."""
        entry.tokens = entry.packed = None
        return await self.claim(entry.request, wait=wait)

    def _grant(self, entry: Entry, tokens: tuple[int, ...]) -> Granted:
        asks = entry.request.asks
        if len(tokens) != len(asks):
            raise Unavailable(f"redis gave {len(tokens)} tokens for {len(asks)} names")
        if len(asks) == 1:
            entry.tokens = {asks[0].name: tokens[0]}
        else:
            entry.tokens = {ask.name: token for ask, token in zip(asks, tokens, strict=True)}
        entry.waiter = entry.packed = None
        return made(Granted, (tokens,))

    def _refuse(self, lease: Lease, entry: Entry, reply: Reply, wait: bool) -> Queued | Busy:
        names = {place.lock: ask.name for ask, place in zip(entry.request.asks, entry.places, strict=True)}
        texts = zip(reply[3::3], reply[5::3], strict=True)
        ahead = tuple(record.claim_of(names[lock], lock, text) for lock, text in texts if lock in names)
        if not wait:
            lease.entries.pop(entry.request.serial, None)
            return Busy(ahead)
        again = (reply[1] if reply[1] >= 0 else lease.ttl) / 1000
        if reply[2]:
            # A stranger's release is told by nobody.
            again = min(again, backoff(entry.looks, random.random(), first=0.01, most=0.1))
            entry.looks += 1
        return self._queue(entry, again, ahead)

    def _queue(self, entry: Entry, again: float, ahead: tuple[Claim, ...]) -> Queued:
        # The end of a lease is pushed by nobody: whoever watches it looks a little after it.
        entry.again_at = self._now() + again + 0.001 + random.random() / 256
        return made(Queued, (entry.request, ahead, entry))

    async def wait(self, queued: Queued, timeout: float) -> Granted | Queued | Gone:
        request = queued.request
        until = self._now() + timeout
        while True:
            entry: Entry = queued.place
            waiter = entry.waiter
            if waiter is None:
                return Granted(tuple((entry.tokens or {}).values())) if entry.tokens else Gone(FORGOTTEN)
            await self._ear.wait(waiter, min(until, entry.again_at))
            if waiter.over is not None:
                return Gone(waiter.over)
            if waiter.tokens and not self._replicas:
                granted = self._grant(entry, waiter.tokens)
                # After it is noted: a renewal that fails there doubts first, and looks then for what is held.
                if waiter.believes:
                    return granted
                entry.tokens, entry.packed, entry.waiter = None, None, waiter
            # Whatever is told from here on, the answer knows it.
            waiter.stirred = False
            answer = await self.claim(request, wait=True)
            if not isinstance(answer, Queued):
                return Gone(FORGOTTEN) if isinstance(answer, Busy) else answer
            if self._now() >= until:
                return answer
            queued = answer

    async def withdraw(self, request: Request) -> None:
        lease = self._leases.get(request.holder.id)
        entry = None
        if lease is not None:
            entry = lease.entries.get(request.serial) or lease.leaving.get(request.serial)
        places = [self._place(ask.name) for ask in request.asks]
        if lease is not None and entry is not None:
            texts = lease.members(entry)
        else:
            texts = members(request.holder, request, 0, b"")
        place = places[0]
        found = [(each.lock, text) for each, text in zip(places, texts, strict=True)]
        command = leave(lease or Lease(request.holder, 0, ""), place.shard, "", found)
        try:
            await self._server.run(LEAVE, command, place.slot)
        except Refused:
            # It is renewed no more, for a renewal may be refused for it. But it may stand there still.
            if lease is not None and entry is not None:
                lease.leaving[request.serial] = entry
                lease.entries.pop(request.serial, None)
            raise
        # Not before: whoever asks again must find the words in which it stands in the queue.
        _drop(lease, request)

    async def release(self, claim: Claim) -> bool:
        (holder, _), serial, ask, token = claim
        name = ask.name
        lease = self._leases.get(holder)
        entry = None
        if lease is not None:
            entry = lease.entries.get(serial)
            lease.drop(serial, name)
        place = self._places.get(name) or self._place(name)
        own = b"fp:%b:%d:%d:" % (holder.encode(), serial, token or 0)
        command = b"%b%b%b$%d\r\n%b\r\n" % (RELEASE_HEAD, place.pair, place.shard.index_bulk, len(own), own)
        try:
            reply: int = await self._server.run(RELEASE, command, place.slot)
        except BaseException:
            if lease is not None and entry is not None:
                lease.leaving[serial] = entry
            raise
        if lease is not None and lease.leaving:
            lease.leaving.pop(serial, None)
        return reply == 1

    async def release_all(self, claims: Sequence[Claim]) -> tuple[bool, ...]:
        places = [self._place(claim.name) for claim in claims]
        owns = []
        for (holder, _), serial, ask, token in claims:
            lease = self._leases.get(holder)
            if lease is not None:
                lease.drop(serial, ask.name)
            owns.append(b"fp:%b:%d:%d:" % (holder.encode(), serial, token or 0))
        place = places[0]
        command = RELEASE_ALL.pack([place.shard.index, *(each.lock for each in places)], *owns)
        reply: list[int] = await self._server.run(RELEASE_ALL, command, place.slot)
        if len(reply) != len(claims):
            raise Unavailable(f"redis answered for {len(reply)} of {len(claims)} names that were given back")
        return tuple(done == 1 for done in reply)

    async def share(self, claim: Claim) -> bool:
        holder, serial, ask, token = claim
        place = self._place(ask.name)
        own = b"fp:%b:%d:%d:" % (holder.id.encode(), serial, token or 0)
        reply: int = await self._server.run(SHARE, SHARE.pack([place.lock, place.shard.index], own), place.slot)
        lease = self._leases.get(holder.id)
        if reply == 1 and lease is not None:
            lease.share(serial, ask.name)
        return reply == 1

    # What operators see and do

    async def look(self, name: str) -> Snapshot:
        place = self._place(name)
        reply = await self._server.run(LOOK, LOOK.pack([place.lock, place.shard.index, place.shard.audit]), place.slot)
        return record.snapshot_of(name, place.lock, reply)

    async def names(self, prefix: str) -> Sequence[str]:
        start = (self._prefix + prefix).encode()
        commands = [(slot, NAMES.pack([index], start)) for slot, index in await self._server.indices()]
        replies = await self._server.run_all(NAMES, commands)
        return record.names_of((lock for locks in replies for lock in locks), self._prefix)

    async def evict(self, name: str, by: str) -> tuple[Claim, ...]:
        place = self._place(name)
        keys = [place.lock, place.shard.index, place.shard.audit]
        reply = await self._server.run(EVICT, EVICT.pack(keys, by, AUDIT_LENGTH), place.slot)
        return tuple(record.claim_of(name, place.lock, text) for text in reply)

    # Rates

    async def meter(self, key: str, rate: Rate, weight: int) -> float:
        return await self.cells.meter(key, rate, weight)

    async def close(self) -> None:
        self.cells.close()
        for lease in list(self._leases.values()):
            self._forget(lease, "the session was closed")
        self._ear.close()
        self._server.close()

    # Inside

    def _place(self, name: str) -> Place:
        place = self._places.get(name)
        if place is None:
            if len(self._places) >= MOST_PLACES:
                self._places.clear()
            lock = (self._prefix + name).encode()
            place = self._places[name] = Place(lock, clustered=self._server.clustered)
        return place

    async def _listen(self) -> None:
        await self._ear.open(await self._server.listening_at(), self._patience)

    def _home(self, holder: Holder) -> tuple[int, Shard]:
        """Where a lease stands that has nothing on it."""
        return 0, SINGLE

    def _forget(self, lease: Lease, reason: str) -> None:
        self._leases.pop(lease.holder.id, None)
        for entry in list(lease.entries.values()):
            if entry.waiter is not None:
                entry.waiter.stir(over=reason)

    def _deliver(self, message: bytes) -> None:
        news = news_of(message)
        if news is None:
            return
        if news.holder == ADDRESSEE:
            self.cells.tell(news.serial)
            return
        lease = self._leases.get(news.holder)
        entry = None if lease is None else lease.entries.get(news.serial)
        if entry is not None and entry.waiter is not None:
            tokens = news.granted(entry.nonce)
            entry.waiter.stir(tokens if len(tokens) == len(entry.places) else ())

    async def _run_on_replicas(self, script: Script, command: bytes, entry: Entry) -> Reply:
        """A grant counts only once enough replicas have it. Else it stands: whoever asks again gets the same one, or
        withdraws it. Withdrawn here without an answer, that could come after it was asked for again.
        """
        reply, seen = await self._server.run_and_wait(script, command, entry.places[0].slot, self._replicas)
        # Below 0 is a place in the queue: nothing is granted yet that a fail-over could lose.
        granted = reply >= 0 if type(reply) is int else reply[0] == 1
        if granted and seen < self._replicas:
            raise Unavailable(f"{seen} of {self._replicas} replicas have the grant: it does not count")
        return reply


def _subject(subjects: list[Subject], position: int) -> Subject:
    if not 0 < position <= len(subjects):
        raise Unavailable("redis speaks of a lock that the renewal was not about")
    return subjects[position - 1]


def _drop(lease: Lease | None, request: Request) -> None:
    if lease is not None:
        lease.entries.pop(request.serial, None)
        lease.leaving.pop(request.serial, None)


AsyncEngine = AsyncRedisEngine
