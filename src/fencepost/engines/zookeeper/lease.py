"""One lease as its engine knows it: what is asked and held on it.

The time model. A lease of `ttl` seconds is a session of a third more. A renewal is a write: answered, it proves that a
majority of the servers took it after it was sent, and that their leader had the session then. But how long a session
at a follower has been silent the leader knows only from what that follower tells it twice a tick: of this renewal
perhaps nothing yet, of the one before certainly. Renewals come every third of the lease (`RENEWALS`), so a session that
is a third longer than its lease outlives it, whatever becomes of that follower. Before a renewal that comes later the
session is attached anew, which the leader hears of by itself.
"""

from typing import Any

from fencepost._runtime.state import StateLock
from fencepost.core.claim import Ask, Request
from fencepost.core.lease import DRIFT_LEAST, DRIFT_RATE, RENEWALS
from fencepost.engines.zookeeper import jute
from fencepost.engines.zookeeper.contender import Contender, Recipe, decoded
from fencepost.engines.zookeeper.record import Card, card_of
from fencepost.engines.zookeeper.waiter import Waiter

# The session outlives the lease by the time between two renewals, which is how late a leader may know of one.
OVERRUN = 1 + 1 / RENEWALS


class Entry:
    """A request that was sent: nothing is known of it yet, or it has a node in the line, and may hold the lock."""

    __slots__ = ("before", "connection", "lock", "node", "request", "stem", "token", "waiter", "watched")

    def __init__(self, request: Request, lock: bytes, stem: bytes) -> None:
        self.request = request
        self.lock = lock
        self.stem = stem
        # The path of its node and the transaction that made it, once known.
        self.node: bytes | None = None
        self.token = 0
        # Who stood before it when it last looked; those who have left since are taken out.
        self.before: list[Contender] = []
        self.waiter: Waiter | None = None
        self.watched: set[bytes] = set()
        # The connection on which the departure of those is told.
        self.connection: Any = None

    @property
    def ask(self) -> Ask:
        return self.request.asks[0]

    def path(self, contender: Contender) -> bytes:
        return b"%b/%b" % (self.lock, contender.node.encode())

    def take_news(self) -> bool:
        """Take those who have left out of the line, and forget whom the server tells of no more; whether any left.

        Our own node may be one of them: then we have no place any more.
        """
        waiter = self.waiter
        if waiter is None:
            return False
        left = set()
        while waiter.gone:
            left.add(waiter.gone.pop())
        while waiter.changed:
            self.watched.discard(waiter.changed.pop())
        self.remove(left)
        return bool(left)

    def remove(self, left: set[bytes]) -> None:
        if self.node in left:
            self.node = None
        self.before = [each for each in self.before if self.path(each) not in left]

    def see(self, contender: Contender, reply: jute.Reply) -> bool:
        """Take in the data of one before us: whether it held the lock alone, and goes on as a reader."""
        if reply.error or not card_of(contender, jute.node(reply.body)[0]).shared:
            return False
        # It held the lock, so that nobody is left before it.
        self.before = [contender.as_reader(), *self.before[self.before.index(contender) + 1 :]]
        return True


def session_timeout(ttl: float) -> float:
    return ttl * OVERRUN


def longest_pause(ttl: float) -> float:
    """How long after the last proof a renewal is still one by itself."""
    return session_timeout(ttl) - (ttl * (1 - DRIFT_RATE) - DRIFT_LEAST)


class Lease:
    """What is on one session. `watch` and `heard` connect waiters with the nodes they wait for."""

    def __init__(self, label: str, ttl: float, recipe: Recipe) -> None:
        self.ttl = ttl
        self.label = label
        self.entries: dict[int, Entry] = {}
        # The send of the last renewal that was answered.
        self.proven_at = 0.0
        self._recipe = recipe
        self._card = Card(label, ttl).pack()
        self._watched: dict[bytes, set[Waiter]] = {}
        self._lock = StateLock()

    def note(self, request: Request, lock: bytes) -> Entry:
        """Before anything is sent: from now on its node is no stray, whatever becomes of the answer."""
        entry = self.entries[request.serial] = Entry(request, lock, self._recipe.stem(request).encode())
        return entry

    def card(self, ask: Ask, *, shared: bool = False) -> bytes:
        return Card(self.label, self.ttl, ask.note, shared).pack() if ask.note or shared else self._card

    def drop(self, entry: Entry) -> None:
        self.entries.pop(entry.request.serial, None)
        self.unwatch(entry)

    def strays(self, nodes: list[bytes]) -> list[bytes]:
        """Nodes of this session that nobody here knows of: made by requests that arrived after they were given up."""
        known = {entry.node for entry in list(self.entries.values())}
        found = []
        for node in nodes:
            if node not in known:
                contender = self._recipe.contender(decoded(node.rpartition(b"/")[2]), "")
                if contender is not None and contender.owner is not None:
                    entry = self.entries.get(contender.owner[1])
                    # Looked at once, and after `known`: its answer may have come just now, in another thread.
                    own = None if entry is None else entry.node
                    if entry is None or (own is not None and own != node):
                        found.append(node)
        return found

    def watch(self, entry: Entry, node: bytes) -> None:
        """Before the server is asked to tell: what it tells then finds somebody."""
        if entry.waiter is None:
            entry.waiter = Waiter()
        entry.watched.add(node)
        with self._lock:
            self._watched.setdefault(node, set()).add(entry.waiter)

    def unwatch(self, entry: Entry) -> None:
        waiter, entry.waiter = entry.waiter, None
        if waiter is None:
            return
        with self._lock:
            for node in entry.watched:
                waiters = self._watched.get(node)
                if waiters is not None:
                    waiters.discard(waiter)
                    if not waiters:
                        self._watched.pop(node, None)
        entry.watched.clear()

    def heard(self, node: bytes, gone: bool) -> None:
        """The server tells once, and then no more of this node."""
        with self._lock:
            waiters = self._watched.pop(node, ())
        for waiter in waiters:
            waiter.tell(node, gone=gone)

    def end(self, reason: str) -> None:
        for entry in list(self.entries.values()):
            if entry.waiter is not None:
                entry.waiter.end(reason)
        self.entries.clear()
