# Generated from src/fencepost/engines/postgresql/advisory/_async/engine.py by tools/unasync.py. Do not edit: run `make gen`.
"""The engine on session advisory locks of PostgreSQL.

What holds: a lock is `pg_advisory_lock(hashtextextended(name, 0))`, so that plain SQL clients exclude us and we them.
The connection is the lease: when it ends, by the death of its process, by hand, or because the server has not heard
of it for the ttl, its locks are free at once, and its holder is told as soon as this process hears of it. Waiters
stand in the server's own queue, and the lock that comes free is itself the news. Each grant has a token from the same
statement, above all earlier ones. Cells and rates are those of the tables beside, and belong to no connection.

Limits: where the server ends a connection whose lease goes on (by hand, or in a restart), the next one may hold the
lock before the last one has heard of that: a moment later, or at the end of its lease if the network is gone, too. The
next one's token is higher, so that a fence closes the gap. A lock is a number to the server. Names and notes of other
sessions are seen once they were held over a renewal. Each waiter needs a connection of its own.
"""

from collections.abc import Callable, Collection, Sequence
from typing import ClassVar, TypeAlias

from psycopg import pq

from fencepost._runtime import threads as runtime
from fencepost.contract.answer import Busy, Gone, Granted, Queued, Renewal, Snapshot
from fencepost.core.claim import Claim, Mode, Request
from fencepost.core.holder import Holder
from fencepost.core.name import is_name
from fencepost.core.rate import Rate
from fencepost.core.traits import Traits
from fencepost.core.url import Url
from fencepost.engines.postgresql._sync.cells import Cells
from fencepost.engines.postgresql._sync.channel import Channel
from fencepost.engines.postgresql._sync.store import Store
from fencepost.engines.postgresql.address import LIBPQ
from fencepost.engines.postgresql.advisory._sync.desk import Desk
from fencepost.engines.postgresql.advisory._sync.downgrade import share
from fencepost.engines.postgresql.advisory._sync.summons import Summons, OurEntry, OurLease
from fencepost.engines.postgresql.advisory._sync.usher import Usher
from fencepost.engines.postgresql.advisory.lease import Hold, Lease
from fencepost.engines.postgresql.query import array, value, whole
from fencepost.engines.postgresql.sql import statements
from fencepost.engines.postgresql.trouble import ServerError, explain, lost
from fencepost.engines.postgresql.wire import threads as wire
from fencepost.errors import EngineError, Refused, Unavailable

OurHold: TypeAlias = Hold[wire.Connection]
EXCLUSIVE, COUNTED = Mode.EXCLUSIVE, Mode.COUNTED
# In ms. An answer that takes longer than making a connection did is being waited for.
LEAST_TRIP = 5
LOST = "the engine no longer has it"
NO_LEASE = "no connection of this holder is open"


class AdvisoryEngine:
    traits: ClassVar[Traits] = Traits(
        scope="network",
        fencing="strict",
        survives="restart",
        order="arrival",
        death="at once",
        counted=False,
        together=False,
        cells=True,
        meters=True,
        ttl_floor=0.1,
        neighbours=("pg_advisory_lock",),
    )

    def __init__(self, url: Url, *, clock: runtime.Clock, patience: float) -> None:
        url.check_options(*LIBPQ, "schema", "owner", "prefix")
        self.on_loss: Callable[[str, str], object] | None = None
        prefix = url.options.get("prefix", "")
        self._store = Store(url, patience)
        self._usher = Usher(self._store)
        self._desk = Desk(self._store, prefix, clock, patience)
        self._summons = Summons(self._store, self._desk, self._letting_go)
        self._channel = Channel(self._store, lambda message: self.cells.hear(message))
        self.cells = Cells(self._store, self._channel, prefix)
        self._patience = patience
        self._now = clock.now
        self._leases: dict[str, OurLease] = {}
        sql = self._sql = statements("locks", self._store.schema)
        self._take = (sql["take exclusive"], sql["take shared"])
        self._try = (sql["try exclusive"], sql["try shared"])
        self._give_back = (sql["release exclusive"], sql["release shared"])

    # Leases

    def lease_open(self, holder: Holder, ttl: float) -> None:
        # What is left of a lease that ended can be given back until its connections end, too.
        for old in [each for each in self._leases.values() if not any(hold.connection.is_open for hold in each.holds)]:
            self._leases.pop(old.holder.id, None)
        asked_at = self._now()
        connection = self._usher.connect(holder, ttl)
        lease = Lease(holder, ttl, connection, trip=max(LEAST_TRIP, int((self._now() - asked_at) * 1000)))
        self._leases[holder.id] = lease
        self._watch(lease, lease.main)
        self._summons.listen(lease)

    def _watch(self, lease: OurLease, hold: OurHold) -> None:
        hold.connection.on_end(lambda: self._ended(lease, hold))

    def _ended(self, lease: OurLease, hold: OurHold) -> None:
        if lease.end(hold) and not lease.is_over():
            self._end(lease, "its connection was closed by the server")

    def _end(self, lease: OurLease, reason: str) -> None:
        lease.over = reason
        tell = self.on_loss or (lambda holder_id, reason: None)
        try:
            tell(lease.holder.id, reason)
        except BaseException:
            # A signal handler raised, perhaps before anybody heard of it.
            tell(lease.holder.id, reason)
            raise
        self._summons.hush(lease.holder.id)
        for hold in list(lease.holds):
            if hold.waiting:
                hold.connection.wake()

    def lease_renew(self, holder: Holder, ttl: float, claims: Collection[Claim]) -> Renewal:
        lease = self._leases.get(holder.id)
        if lease is None or lease.is_over():
            return Renewal(alive=False)
        mark = object()
        try:
            for hold in lease.to_keep(mark):
                self._keep(hold)
        finally:
            for hold in list(lease.holds):
                hold.users.discard(mark)
        if lease.is_over():
            return Renewal(alive=False)
        self._summons.resume(lease)
        held = {(entry.request.serial, entry.token) for entry in list(lease.entries.values())}
        gone = [claim for claim in claims if (claim.serial, claim.token) not in held]
        return Renewal(True, tuple((each.serial, each.name, lease.evicted.pop(each.token or 0, LOST)) for each in gone))

    def _keep(self, hold: OurHold) -> None:
        if hold.written_down:
            self._usher.call(hold.connection, "stay")
            return
        hold.written_down = True
        held = list(hold.held.values())
        names, notes = [self._desk.key(each.ask.name).decode() for each in held], [each.ask.note for each in held]
        tokens = array([str(each.token) for each in held])
        try:
            self._usher.call(hold.connection, "keep", array(names), array(notes), tokens)
        except BaseException:
            hold.written_down = False
            raise

    def lease_close(self, holder: Holder) -> None:
        lease = self._leases.get(holder.id)
        if lease is None:
            self._summons.hush(holder.id)
            return
        lease.over = "the lease was closed"
        try:
            self._summons.hush(holder.id)
            for entry in list(lease.entries.values()):
                if entry.waiting:
                    self._desk.cancel(entry.hold.connection.pid)
            for hold in list(lease.holds):
                if not hold.waiting:
                    try:
                        # Closing it does the same, a moment later.
                        self._usher.call(hold.connection, "release all")
                    except EngineError:
                        pass
        finally:
            # Whoever interrupts this leaves none of them open.
            self._disconnect(lease)
            self._leases.pop(holder.id, None)

    # Claims

    def claim(self, request: Request, *, wait: bool) -> Granted | Queued | Busy | Gone:
        lease = self._leases.get(request.holder.id)
        if lease is None or lease.is_over():
            return Gone(NO_LEASE)
        try:
            return self._ask(lease, request, wait=wait)
        except Unavailable:
            if not lease.is_over():
                raise
            # It went with its connection while we asked: that is an answer, and the session asks under another one.
            return Gone(lease.over or NO_LEASE)

    def _ask(self, lease: OurLease, request: Request, *, wait: bool) -> Granted | Queued | Busy | Gone:
        _, serial, asks, _ = request
        ask = asks[0]
        if len(asks) > 1 or ask.mode is COUNTED:
            raise Refused("advisory locks are exclusive or shared, one name at a time: use postgresql:// for more")
        entry = lease.entries.get(serial)
        if entry is not None:
            return self._ask_again(lease, entry, wait=wait)
        entry = lease.begin(request, self._now()) if wait else None
        if entry is None:
            answer = self._attempt(lease, request)
            if not wait or not isinstance(answer, Busy):
                return answer
            entry = lease.begin(request, self._now()) or self._begin_on_another(lease, request)
        query = self._take[ask.mode is not EXCLUSIVE]
        try:
            result = entry.hold.connection.ask(query, (self._desk.key(ask.name),), lease.trip)
        except (ServerError, Unavailable) as error:
            return self._failed(lease, entry, error)
        return self._taken(lease, entry, result)

    def _begin_on_another(self, lease: OurLease, request: Request) -> OurEntry:
        while True:
            self._another(lease)
            # Another may have been faster to take the new one.
            if (entry := lease.begin(request, self._now())) is not None:
                return entry

    def _attempt(self, lease: OurLease, request: Request) -> Granted | Busy | Gone:
        """Try once, without standing in the queue."""
        ask = request.asks[0]
        while (leaving := lease.leaving(ask.name)) is not None and self._caught_up(lease, leaving):
            # The server may have it back already.
            pass
        if excluded := lease.excluded(ask):
            return Busy(excluded)
        while (entry := lease.to_try(request, self._now())) is None:
            # Another may be faster to take the new one.
            self._another(lease)
        hold = entry.hold
        try:
            token = value(hold.connection.call(self._try[ask.mode is not EXCLUSIVE], self._desk.key(ask.name)))
        except ServerError as error:
            self._unlock(entry)
            if hold.connection.is_open:
                self._forget(lease, entry)
            else:
                self._give_up(lease, entry)
            raise explain(error, self._store.address) from error
        except Unavailable:
            if not hold.connection.is_open:
                self._give_up(lease, entry)
            raise
        if token is not None:
            return self._granted(lease, entry, whole(token))
        self._forget(lease, entry)
        return Busy(tuple(each.claim for each in (self.look(ask.name)).holders))

    def _ask_again(self, lease: OurLease, entry: OurEntry, *, wait: bool) -> Granted | Queued | Busy | Gone:
        if entry.token is not None:
            return self._believed(lease, entry, entry.token)
        if not entry.waiting or not wait:
            # What came of it was not heard: make sure that it is nothing, and start again.
            self.withdraw(entry.request)
            return self.claim(entry.request, wait=wait)
        return self._finish(lease, entry, self._now() + lease.trip / 1000)

    def _finish(self, lease: OurLease, entry: OurEntry, until: float) -> Granted | Queued | Gone:
        """The lock that is waited for, or `Queued` if it has not come at `until`."""
        try:
            result = entry.hold.connection.finish(until)
        except (ServerError, Unavailable) as error:
            return self._failed(lease, entry, error)
        return self._taken(lease, entry, result)

    def _taken(self, lease: OurLease, entry: OurEntry, result: pq.abc.PGresult | None) -> Granted | Queued:
        if result is None:
            return Queued(entry.request, (), entry)
        try:
            token = whole(value(result))
        except Unavailable:
            self._give_up(lease, entry)
            raise
        return self._granted(lease, entry, token)

    def _granted(self, lease: OurLease, entry: OurEntry, token: int) -> Granted:
        if not lease.granted(entry, token):
            raise self._ended_unheard(lease, entry)
        return self._believed(lease, entry, token)

    def _believed(self, lease: OurLease, entry: OurEntry, token: int) -> Granted:
        """A grant of which the last renewal says nothing stands if its connection says so: it is asked by the next."""
        hold = entry.hold
        if hold.unasked:
            try:
                self._usher.call(hold.connection, "stay")
            except Unavailable:
                if not hold.connection.is_open:
                    self._give_up(lease, entry)
                raise
            if not lease.confirm(hold):
                raise self._ended_unheard(lease, entry)
        return Granted((token,))

    def _ended_unheard(self, lease: OurLease, entry: OurEntry) -> Unavailable:
        self._give_up(lease, entry)
        return lost(self._store.address, "it ended before its grant was heard of")

    def _failed(self, lease: OurLease, entry: OurEntry, error: ServerError | Unavailable) -> Gone:
        try:
            if isinstance(error, Unavailable):
                raise error
            # A session's lock outlives the statement that took it, also one that failed or was cancelled afterwards.
            self._usher.call(entry.hold.connection, "release all")
            self._forget(lease, entry)
        except EngineError:
            self._give_up(lease, entry)
        if lease.is_over():
            return Gone(lease.over or NO_LEASE)
        raise explain(error, self._store.address) if isinstance(error, ServerError) else error from error

    def wait(self, queued: Queued, timeout: float) -> Granted | Queued | Gone:
        entry: OurEntry = queued.place
        lease = self._leases.get(queued.request.holder.id)
        if lease is None or entry.request.serial not in lease.entries:
            return Gone(NO_LEASE)
        if entry.token is not None:
            return self._believed(lease, entry, entry.token)
        return self._finish(lease, entry, self._now() + timeout)

    def withdraw(self, request: Request) -> None:
        lease = self._leases.get(request.holder.id)
        entry = None if lease is None else lease.entries.get(request.serial)
        if lease is None or entry is None:
            return
        if entry.waiting:
            try:
                self._cancelled(lease, entry)
            except EngineError:
                # Cancelled, as was asked for; or the connection is gone, and all of it with it.
                pass
            if entry.waiting:
                self._give_up(lease, entry)
                return
        self._let_go(lease, entry)

    def _cancelled(self, lease: OurLease, entry: OurEntry) -> Granted | Queued | Gone:
        """Raises once it is. The server ignores a cancellation that comes before the statement, hence more than one."""
        until = self._now() + runtime.patience(self._patience)
        while True:
            self._desk.cancel(entry.hold.connection.pid)
            answer = self._finish(lease, entry, min(until, self._now() + lease.trip / 1000))
            if not isinstance(answer, Queued) or self._now() >= until:
                return answer

    def release(self, claim: Claim) -> bool:
        lease = self._leases.get(claim.holder.id)
        entry = None if lease is None else lease.entries.get(claim.serial)
        if lease is None or entry is None or entry.token != claim.token:
            return False
        return self._let_go(lease, entry)

    def _let_go(self, lease: OurLease, entry: OurEntry) -> bool:
        """Give it back: once, for what the connection takes afterwards is another's. Whether it was held until now."""
        mark = object()
        try:
            if not self._gripped(lease, entry, mark):
                return False
            held = self._unlock(entry)
            self._forget(lease, entry)
        except BaseException:
            lease.loosen(entry, mark)
            raise
        return held

    def _gripped(self, lease: OurLease, entry: OurEntry, mark: object) -> bool:
        """Whether it still stands, and is the caller's to change, once nobody else is at it."""
        while not lease.grip(entry, mark):
            if not self._caught_up(lease, entry):
                return False
        return True

    def _caught_up(self, lease: OurLease, entry: OurEntry) -> bool:
        """Stay for whatever somebody else has asked on its connection. False if it does not stand any more."""
        connection, mark = entry.hold.connection, object()
        try:
            if not lease.visit(entry, mark):
                return False
            # Answered after all that.
            self._usher.call(connection, "stay")
        except Unavailable:
            if connection.is_open:
                raise
            return False
        finally:
            entry.hold.users.discard(mark)
        return True

    def _unlock(self, entry: OurEntry) -> bool:
        if entry.sharing and not share(self._usher, entry, self._desk.key(entry.ask.name)):
            return False
        key, connection = self._desk.key(entry.ask.name), entry.hold.connection
        try:
            if entry.token is None:
                others = array([str(each.token) for each in list(entry.hold.held.values())])
                connection.call(self._sql["disown"], key, others)
            query = self._give_back[entry.ask.mode is not EXCLUSIVE]
            result = connection.call(query, key, b"%d" % (entry.token or 0))
        except ServerError as error:
            raise explain(error, self._store.address) from error
        except Unavailable:
            if connection.is_open:
                raise
            # Gone with its connection.
            return False
        return result.get_value(0, 0) == b"t"

    def share(self, claim: Claim) -> bool:
        lease = self._leases.get(claim.holder.id)
        entry = None if lease is None else lease.entries.get(claim.serial)
        if lease is None or entry is None or entry.token != claim.token:
            return False
        mark = object()
        try:
            if not self._gripped(lease, entry, mark):
                return False
            return share(self._usher, entry, self._desk.key(entry.ask.name))
        finally:
            lease.loosen(entry, mark)

    # What operators see and do

    def look(self, name: str) -> Snapshot:
        own = [own for lease in list(self._leases.values()) for own in lease.standing(name, self._now())]
        return self._desk.look(name, {connection.pid: standing for connection, standing in own})

    def names(self, prefix: str) -> Sequence[str]:
        names = self._desk.names(prefix)
        for lease in list(self._leases.values()):
            names.update(entry.ask.name for entry in list(lease.entries.values()))
        return sorted(name for name in names if name.startswith(prefix) and is_name(name))

    def evict(self, name: str, by: str) -> tuple[Claim, ...]:
        return self._desk.evict(name, by)

    # Rates

    def meter(self, key: str, rate: Rate, weight: int) -> float:
        return self.cells.meter(key, rate, weight)

    def close(self) -> None:
        self.cells.close()
        for holder_id, lease in self._leases.copy().items():
            lease.over = "the session was closed"
            self._disconnect(lease)
            self._leases.pop(holder_id, None)
        self._summons.close()
        self._channel.close()
        self._store.close()

    # Inside

    def _another(self, lease: OurLease) -> OurHold:
        """One connection more, for whoever takes it."""
        mark = object()
        hold = Hold(self._usher.connect(lease.holder, lease.ttl), users={mark})
        try:
            lease.add(hold)
            self._watch(lease, hold)
            if lease.is_over():
                # The others were closed meanwhile.
                raise lost(self._store.address, lease.over or NO_LEASE)
        except BaseException:
            self._drop(lease, hold)
            raise
        finally:
            hold.users.discard(mark)
        return hold

    def _disconnect(self, lease: OurLease) -> None:
        for hold in list(lease.holds):
            if hold.waiting:
                # Whoever waits on it has it to itself, and closes it.
                hold.connection.wake()
            else:
                hold.connection.close()

    def _letting_go(self, lease: OurLease, entry: OurEntry) -> runtime.Work[bool]:
        return lambda: self._let_go(lease, entry)

    def _forget(self, lease: OurLease, entry: OurEntry) -> None:
        spare = lease.forget(entry)
        if spare is not None:
            spare.close()

    def _give_up(self, lease: OurLease, entry: OurEntry) -> None:
        """Nobody knows what is on that connection: without it there is nothing."""
        try:
            lease.forget(entry)
            self._drop(lease, entry.hold)
        except BaseException:
            # A signal handler raised: nobody else is to use that connection.
            self._drop(lease, entry.hold)
            raise

    def _drop(self, lease: OurLease, hold: OurHold) -> None:
        try:
            hold.connection.close()
            self._ended(lease, hold)
        except BaseException:
            # A signal handler raised: whoever holds something there must hear that it has ended.
            hold.connection.close()
            self._ended(lease, hold)
            raise


Engine = AdvisoryEngine
