# Generated from src/fencepost/engines/postgresql/_async/engine.py by tools/unasync.py. Do not edit: run `make gen`.
"""The engine on tables of PostgreSQL.

What holds: each grant has a token above all earlier ones of its name, also after a crash, a restart, the promotion of
a standby or the loss of the schema. Waiters are served in the order in which they reached the server; a release makes
the next one the holder, in the same transaction, and tells it by NOTIFY. Anybody may send such messages, so whoever is
told asks, and the tables answer. All time is the database's. Every call is one statement and one transaction, and
leaves nothing behind on its connection: a pooler may be in between.

Limits: LISTEN does not pass a transaction pooler. There, waiters look again by themselves, unless `listen=` in the
URL names a way around it. A database clock that is set forward ends leases early: tokens stay in order, and a fence
refuses the older.
"""

import random
from collections.abc import Collection, Sequence
from typing import ClassVar

from fencepost._runtime import threads as runtime
from fencepost.contract.answer import Busy, Gone, Granted, Queued, Renewal, Snapshot
from fencepost.core.backoff import backoff
from fencepost.core.claim import Claim, Mode, Request
from fencepost.core.holder import Holder
from fencepost.core.malformed import Malformed, is_integer
from fencepost.core.name import is_name
from fencepost.core.rate import Rate
from fencepost.core.traits import Traits
from fencepost.core.url import Url
from fencepost.engines.postgresql import record
from fencepost.engines.postgresql._sync.cells import Cells
from fencepost.engines.postgresql._sync.channel import Channel
from fencepost.engines.postgresql._sync.store import Store
from fencepost.engines.postgresql.address import LIBPQ, listening_at
from fencepost.engines.postgresql.epoch import Epoch, Key
from fencepost.engines.postgresql.query import array, rows, text, texts, value, whole, wholes
from fencepost.engines.postgresql.sql import statements
from fencepost.engines.postgresql.waiter import Waiter
from fencepost.errors import Refused

AUDIT_LENGTH = 1000
LOST = "the engine no longer has it"
# How often an ask may be overtaken by others of its session that are given up.
MOST_LATE = 100
YES, NO = b"t", b"f"


class PostgresqlEngine:
    traits: ClassVar[Traits] = Traits(
        scope="network",
        fencing="strict",
        survives="restart",
        order="arrival",
        death="lease",
        priority=True,
        cells=True,
        meters=True,
        ttl_floor=0.05,
    )

    def __init__(self, url: Url, *, clock: runtime.Clock, patience: float) -> None:
        url.check_options(*LIBPQ, "schema", "owner", "listen")
        self._store = Store(url, patience)
        self._now = clock.now
        self._channel = Channel(self._store, self._deliver, direct=listening_at(url))
        # By what a message to them begins with.
        self._waiters: dict[bytes, Waiter] = {}
        self._epoch = Epoch()
        self._sql = statements("statements", self._store.schema)
        self.cells = Cells(self._store, self._channel)
        self._claim, self._release = self._sql["claim"], self._sql["release"]

    # Leases

    def lease_open(self, holder: Holder, ttl: float) -> None:
        parameters = (holder.id.encode(), text(holder.label), b"%f" % ttl, self._channel.name.encode())
        self._store.call(self._sql["lease_open"], *parameters, self._epoch.now)

    def lease_renew(self, holder: Holder, ttl: float, claims: Collection[Claim]) -> Renewal:
        reply = value(self._store.call_at_once(self._sql["lease_renew"], holder.id.encode(), b"%f" % ttl))
        if reply is None:
            return Renewal(alive=False)
        held = set(wholes(reply))
        gone = [claim for claim in claims if claim.token not in held]
        if not gone:
            return Renewal(alive=True)
        evicted = rows(self._store.call_at_once(self._sql["evicted"], holder.id.encode()))
        reasons = record.reasons_of(evicted)
        return Renewal(True, tuple((each.serial, each.name, reasons.get(each.token or 0, LOST)) for each in gone))

    def lease_close(self, holder: Holder) -> None:
        theirs = holder.id.encode() + b":"
        for key, waiter in self._waiters.copy().items():
            if key.startswith(theirs):
                waiter.stir(over="the lease was closed")
        while value(self._store.call_at_once(self._sql["lease_close"], holder.id.encode())) == YES:
            pass

    # Claims

    def claim(self, request: Request, *, wait: bool) -> Granted | Queued | Busy | Gone:
        if wait and not self._channel.ear.is_open and self._key(request) in self._waiters:
            # It may have a place: asking without one would lose it.
            self._channel.listen()
        # Ask without a place first: where nobody is in the way there is nothing to listen for.
        answer = self._ask(request, wait=wait and self._channel.ear.is_open)
        if wait and isinstance(answer, Busy):
            self._channel.listen()
            answer = self._ask(request, wait=True)
        return answer

    def _ask(self, request: Request, *, wait: bool, again: int = MOST_LATE) -> Granted | Queued | Busy | Gone:
        holder, serial, asks, priority = request
        head = _head(holder, serial)
        waiter: Waiter | None = None
        if wait:
            # Before asking: the news of the grant may be here before the answer is.
            key = b":".join(head)
            waiter = self._waiters.setdefault(key, Waiter())
            # What it is told from here on may be news that the answer does not have.
            waiter.news = False
        name, mode, _, _, note = asks[0]
        may_wait = YES if wait else NO
        epoch = self._epoch.ask(head)
        if len(asks) == 1 and mode is Mode.EXCLUSIVE and not priority:
            reply = self._store.value(self._claim, *head, name.encode(), text(note), may_wait, epoch)
        else:
            names, modes = array([ask.name for ask in asks]), array([ask.mode for ask in asks])
            weights, limits = ([str(ask.weight) for ask in asks], [str(ask.limit) for ask in asks])
            notes = array([ask.note for ask in asks])
            reply = self._store.value(
                self._sql["enter"],
                *head,
                names,
                modes,
                array(weights),
                array(limits),
                notes,
                may_wait,
                b"%d" % priority,
                epoch,
            )
        self._epoch.settled(head)
        if reply is not None and reply.isdigit():
            self._waiters.pop(b":".join(head), None)
            return Granted((whole(reply),))
        answer = record.answer_of(reply)
        if "late" in answer:
            # Another request was given up meanwhile, and took this ask for one of those that nobody waits for.
            if not again or not is_integer(answer["late"]):
                raise Malformed("postgresql calls every ask late")
            self._epoch.is_late(answer["late"])
            return self._ask(request, wait=wait, again=again - 1)
        return self._read(request, answer, waiter)

    def _read(
        self, request: Request, answer: dict[str, object], waiter: Waiter | None
    ) -> Granted | Queued | Busy | Gone:
        match answer:
            case {"tokens": list(tokens)} if len(tokens) == len(request.asks) and all(map(is_integer, tokens)):
                self._waiters.pop(self._key(request), None)
                return Granted(tuple(tokens))
            case {"ahead": list(ahead), "again": again}:
                claims = tuple(map(record.claim_of, ahead))
                if waiter is None:
                    return Busy(claims)
                waiter.again_at = self._now() + self._pause(waiter, again)
                return Queued(request, claims, waiter)
        self._waiters.pop(self._key(request), None)
        return Gone(str(answer.get("gone")))

    def _pause(self, waiter: Waiter, milliseconds: object) -> float:
        """The end of a lease is told by nobody: whoever watches it looks for itself. So does whoever hears nothing."""
        pause = random.uniform(0.001, 0.005)
        if isinstance(milliseconds, int | float):
            pause += milliseconds / 1000
        if self._channel.ear.is_deaf:
            pause = min(pause, backoff(waiter.looks, random.random(), first=0.01, most=0.1))
            waiter.looks += 1
        return pause

    def wait(self, queued: Queued, timeout: float) -> Granted | Queued | Gone:
        request = queued.request
        until = self._now() + timeout
        while True:
            waiter: Waiter = queued.place
            self._channel.ear.wait(waiter, min(until, waiter.again_at))
            if waiter.over is not None:
                return Gone(waiter.over)
            # Whatever it was told: anybody may send messages, and only the tables say who holds.
            answer = self.claim(request, wait=True)
            if not isinstance(answer, Queued):
                return Gone("the lease was closed") if isinstance(answer, Busy) else answer
            if self._now() >= until:
                return answer
            queued = answer

    def withdraw(self, request: Request) -> None:
        self._waiters.pop(self._key(request), None)
        head = _head(request.holder, request.serial)
        names = array([ask.name for ask in request.asks])
        try:
            self._store.call(self._sql["withdraw"], *head, names, self._epoch.after(head))
        except Refused:
            # For good: nobody asks again.
            self._epoch.settled(head)
            raise
        self._epoch.settled(head)

    def release(self, claim: Claim) -> bool:
        holder, serial, ask, token = claim
        head = _head(holder, serial)
        parameters = (ask.name.encode(), b"%d" % (token or 0), self._epoch.after(head))
        reply = self._store.value(self._release, *head, *parameters)
        self._epoch.settled(head)
        return reply == YES

    def release_all(self, claims: Sequence[Claim]) -> tuple[bool, ...]:
        holder, serial, _, _ = claims[0]
        names, tokens = array([each.name for each in claims]), array([str(each.token or 0) for each in claims])
        head = _head(holder, serial)
        reply = self._store.value(self._sql["release_all"], *head, names, tokens, self._epoch.after(head))
        self._epoch.settled(head)
        if reply is None or len(reply) != len(claims):
            raise Malformed("postgresql answered to other releases than it was asked for")
        return tuple(done == ord("1") for done in reply)

    def share(self, claim: Claim) -> bool:
        holder, serial, ask, token = claim
        parameters = (holder.id.encode(), b"%d" % serial, ask.name.encode(), b"%d" % (token or 0))
        return self._store.value(self._sql["share"], *parameters) == YES

    # What operators see and do

    def look(self, name: str) -> Snapshot:
        return record.snapshot_of(name, self._store.value(self._sql["look"], name.encode()))

    def names(self, prefix: str) -> Sequence[str]:
        found = rows(self._store.call(self._sql["names"], prefix.encode()))
        return sorted(filter(is_name, texts(found)))

    def evict(self, name: str, by: str) -> tuple[Claim, ...]:
        parameters = (name.encode(), text(by), b"%d" % AUDIT_LENGTH)
        return record.claims_of(self._store.value(self._sql["evict"], *parameters))

    # Rates

    def meter(self, key: str, rate: Rate, weight: int) -> float:
        return self.cells.meter(key, rate, weight)

    def close(self) -> None:
        self.cells.close()
        for waiter in list(self._waiters.values()):
            waiter.stir(over="the session was closed")
        self._channel.close()
        self._store.close()

    # Inside

    def _deliver(self, message: bytes) -> None:
        """Anybody may send messages: one is news at most, and none if it makes no sense."""
        to, _, _ = message.rpartition(b":")
        waiter = self._waiters.get(to)
        try:
            if waiter is not None:
                waiter.stir()
            else:
                self.cells.hear(message)
        except Malformed:
            pass

    def _key(self, request: Request) -> bytes:
        return b":".join(_head(request.holder, request.serial))


def _head(holder: Holder, serial: int) -> Key:
    return holder.id.encode(), b"%d" % serial


Engine = PostgresqlEngine
