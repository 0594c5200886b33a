# Generated from src/fencepost/engines/sqlite/_async/engine.py by tools/unasync.py. Do not edit: run `make gen`.
"""The embedded engine: a SQLite file, a gate before it, and letters between those who wait.

What holds: every grant has a token above all earlier ones, also after a crash, a reboot, a clock set back
or the loss of the state file. The lock of a killed process is free at once, that of a stopped one at the
end of its lease. Waiters are served in order of arrival and told their grant by whoever frees the name.

Limits: one host, one user, a local file system. A process stopped in the few microseconds that it spends
inside the gate holds up all others for as long as it is stopped: they get `Unavailable` after their patience.
Processes in other pid namespaces (containers) that share the file are known dead only when their lease ends.
"""

import os
import random
import sqlite3
from collections.abc import Callable, Collection, Sequence
from typing import ClassVar, TypeVar

from fencepost._runtime import threads as runtime
from fencepost._runtime.clock import boottime
from fencepost._runtime.fork import generation
from fencepost.contract.answer import Busy, Gone, Granted, Queued, Renewal, Snapshot
from fencepost.core.backoff import backoff
from fencepost.core.claim import Claim, Request
from fencepost.core.holder import Holder
from fencepost.core.rate import Rate
from fencepost.core.traits import Traits
from fencepost.core.url import Url
from fencepost.engines.sqlite._sync.cells import Cells
from fencepost.engines.sqlite._sync.room import Room
from fencepost.engines.sqlite.claim import Claims
from fencepost.engines.sqlite.clock import host_clock
from fencepost.engines.sqlite.gate import Occupied
from fencepost.engines.sqlite.lane import Lane
from fencepost.engines.sqlite.lease import Leases
from fencepost.engines.sqlite.location import locate
from fencepost.engines.sqlite.mailbox import Letter, Mailbox
from fencepost.engines.sqlite.meter import Meters
from fencepost.engines.sqlite.place import Place
from fencepost.engines.sqlite.process import Peers
from fencepost.engines.sqlite.queue import Queue
from fencepost.engines.sqlite.settlement import gone
from fencepost.engines.sqlite.sight import Sight
from fencepost.engines.sqlite.store import Store
from fencepost.engines.sqlite.trouble import explain
from fencepost.engines.sqlite.vigil import Vigil
from fencepost.errors import EngineError, Unavailable

T = TypeVar("T")
SPIN = 0.00005


class SqliteEngine:
    traits: ClassVar[Traits] = Traits(
        scope="host",
        fencing="strict",
        survives="restart",
        order="arrival",
        death="at once",
        priority=True,
        cells=True,
        meters=True,
        ttl_floor=0.05,
    )

    def __init__(self, url: Url, *, clock: runtime.Clock, patience: float) -> None:
        # What all engines at the same state have in common; results of once-only work are kept beside it.
        self.locality = self._path = locate(url)
        self._now = now = host_clock(clock.now)
        self._patience = patience
        self._generation = generation()
        self._mutex = runtime.Mutex()
        self._closed = False
        # Whether something that others wait to hear may not have been said: whoever was to say it was interrupted.
        self._unsaid = False
        self._store = Store(self._path)
        self._mailbox = Mailbox(self._store.mail)
        self._queue = Queue(self._store, self._mailbox, Peers(), now)
        vigil = Vigil(able=runtime.Inbox.catches)
        self._lane = Lane(self._queue, vigil)
        self._claims = Claims(self._queue, self._lane)
        self._leases = Leases(self._queue)
        self._meters = Meters(self._store, now)
        self._sight = Sight(self._queue, self._leases)
        self._room = Room(self._mailbox, self._queue.places, vigil, now)
        self.cells = Cells(self._path, clock, patience)

    def lease_open(self, holder: Holder, ttl: float) -> None:
        sent_at = self._now()
        self._transact(self._leases.open, holder, ttl)
        self._queue.lease_ends[holder.id] = sent_at + ttl

    def lease_renew(self, holder: Holder, ttl: float, claims: Collection[Claim]) -> Renewal:
        sent_at = self._now()
        renewal = self._transact(self._leases.renew, holder, ttl, claims)
        if renewal.alive:
            self._queue.lease_ends[holder.id] = sent_at + ttl
        return renewal

    def lease_close(self, holder: Holder) -> None:
        self._queue.lease_ends.pop(holder.id, None)
        self._claims.forget(holder)
        try:
            self._transact(self._leases.close, holder)
        finally:
            self._room.wake_reader()

    def claim(self, request: Request, *, wait: bool) -> Granted | Queued | Busy | Gone:
        if wait and self._lane.is_open:
            answer = self._lane.claim(request)
            if answer is not None:
                return answer
        return self._transact(self._claims.claim, request, wait)

    def release(self, claim: Claim) -> bool:
        if self._lane.is_open:
            try:
                letters = self._lane.release(claim)
                if letters is not None:
                    self._post(letters)
                    return True
            except BaseException:
                self._unsaid = True
                raise
        return self._transact(self._claims.release, claim)

    def release_all(self, claims: Sequence[Claim]) -> tuple[bool, ...]:
        return self._transact(self._claims.release_all, claims)

    def share(self, claim: Claim) -> bool:
        return self._transact(self._claims.share, claim)

    def withdraw(self, request: Request) -> None:
        self._transact(self._claims.withdraw, request)

    def look(self, name: str) -> Snapshot:
        if self._store.is_blank:
            return Snapshot(name, (), ())
        snapshot: Snapshot = self._transact(self._queue.atomically, self._sight.look, name)
        return snapshot

    def names(self, prefix: str) -> Sequence[str]:
        if self._store.is_blank:
            return []
        return self._transact(self._queue.atomically, self._sight.names, prefix)

    def evict(self, name: str, by: str) -> tuple[Claim, ...]:
        if self._store.is_blank:
            return ()
        return self._transact(self._queue.atomically, self._sight.evict, name, by)

    def wait(self, queued: Queued, timeout: float) -> Granted | Queued | Gone:
        request, ahead, place = queued
        assert isinstance(place, Place)
        now = self._now
        until = now() + timeout
        while True:
            self._room.wait(place, min(until, place.until))
            if place.over is not None:
                return Gone(place.over)
            if place.tokens and now() < self._queue.lease_ends.get(request.holder.id, 0.0):
                self._queue.places.pop((request.holder.id, request.serial), None)
                return Granted(place.tokens)
            answer = self._transact(self._claims.look_again, request)
            if not isinstance(answer, Queued):
                return gone(request) if isinstance(answer, Busy) else answer
            place = answer.place
            if now() >= until or (ahead and answer.ahead != ahead):
                return answer
            ahead = answer.ahead

    def meter(self, key: str, rate: Rate, weight: int) -> float:
        wait: float = self._transact(self._queue.atomically, self._meters.take, key, rate, weight)
        return wait

    def close(self) -> None:
        for place in list(self._queue.places.values()):
            place.stir(over="the session was closed")
        self._queue.places.clear()
        if self._generation != generation():
            self._store.abandon()
            self._mailbox.abandon()
            self.cells.abandon()
            return
        self.cells.close()
        self._room.wake_reader()
        try:
            if self._store.is_open:
                self._transact(self._store.close)
        except EngineError:
            # SQLite has locks of its own: closed without the gate it is slower, not wrong.
            pass
        with self._mutex:
            # Whoever came meanwhile is through, and nobody comes after this.
            self._closed = True
            self._store.close()
            self._mailbox.close()
            self._room.close()
            self._queue.peers.close()
            self._store.gate.close()

    def _transact(self, work: Callable[..., T], *args: object) -> T:
        """Do `work` alone on this host, then send what it has to say to others."""
        queue = self._queue
        if self._unsaid:
            # Set again by whatever keeps it from being said now.
            self._unsaid = False
            self._transact(queue.atomically, queue.tell_everyone)
        try:
            with self._mutex:
                if self._closed:
                    raise Unavailable(f"lock state '{self._path}' was closed here: connect again")
                queue.letters = ()
                try:
                    result = self._store.alone(work, *args)
                except Occupied:
                    result = self._alone_later(work, *args)
                letters = self._queue.letters
            if letters:
                self._post(letters)
            return result
        except EngineError:
            raise
        except BaseException as error:
            self._unsaid = True
            if isinstance(error, (sqlite3.Error, OSError)):
                raise explain(error, self._path) from error
            raise

    def _alone_later(self, work: Callable[..., T], *args: object) -> T:
        """Transactions take microseconds: spin, so that one who comes and goes can not keep us out; then nap."""
        began_at = boottime()
        attempt = 0
        while True:
            if boottime() < began_at + SPIN:
                os.sched_yield()
            elif boottime() >= began_at + self._patience:
                raise Unavailable(
                    f"lock state '{self._path}' is busy: another process has been inside its gate for "
                    f"{self._patience:g} s, or many were in turn"
                )
            else:
                runtime.sleep(backoff(attempt, random.random(), first=0.00005, most=0.0005))
                attempt += 1
            try:
                return self._store.alone(work, *args)
            except Occupied:
                continue

    def _post(self, letters: Sequence[Letter]) -> None:
        """Send letters, all of them before anything that may fail. Where nobody is at the address any more the grant
        goes to the next."""
        returned = [letter for letter in letters if not self._mailbox.send(letter)]
        try:
            for letter in returned:
                self._transact(self._queue.atomically, self._queue.unreachable, letter)
        except BaseException:
            self._unsaid = True
            raise


Engine = SqliteEngine
