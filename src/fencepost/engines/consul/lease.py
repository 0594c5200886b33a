"""One lease as its engine knows it: the session, and what is asked and held on it."""

import itertools
from base64 import b64encode
from typing import Protocol

from fencepost._runtime.state import StateLock
from fencepost.core.claim import Claim, Mode, Request
from fencepost.core.holder import Holder
from fencepost.engines.consul.key import LEASE, lock_of, place_of
from fencepost.engines.consul.record import Record
from fencepost.engines.consul.transaction import Operation, lock


class Bell(Protocol):
    def set(self) -> None: ...


class Entry:
    """A request that was sent: a place in a queue, or (with tokens) what it still holds."""

    def __init__(self, request: Request, prefix: str) -> None:
        self.request = request
        self.key = (request.holder.id, request.serial)
        self.locks = {ask.name: lock_of(prefix, ask.name) for ask in request.asks}
        # By name, once granted; a name that was given back is not in it.
        self.tokens: dict[str, int] | None = None
        # Whether it has, or may have, a key of its own beside the lock.
        self.queued = False
        # Whether it was asked to go on as a reader: what tells that it is held may be another key by now.
        self.shared = False
        # When it took its place, as an index: what others saw of it before that is not so any more.
        self.since = 0
        # Its place is gone, and it still wants one.
        self.lost = False
        self.over: str | None = None
        self.bell: Bell | None = None

    def place(self, name: str) -> str:
        return place_of(self.locks[name], *self.key)

    def grant(self, tokens: tuple[int, ...]) -> None:
        self.tokens = {ask.name: token for ask, token in zip(self.request.asks, tokens, strict=True)}
        self.ring()

    def end(self, reason: str) -> None:
        self.over = reason
        self.ring()

    def ring(self) -> None:
        if self.bell is not None:
            self.bell.set()


class Lease:
    """What makes that nothing has an effect any more when it arrives late.

    `epoch` is the index of the lease's own key. Every claim insists on it, so that a change of the key stops all claims
    that are still on their way. A request whose claim was not answered is in doubt. Whatever is asked of it next, to
    claim it again or to withdraw it, changes the epoch in its first transaction, unless an epoch is known to have begun
    since the claim was sent. So of a request that was answered nothing is on its way.

    A claim that gives something back, to come again under the same serial, insists on the epoch as well. A withdrawal
    is for good: it names what belongs to its serial, which nobody else ever has. A release, a grant to the next one and
    an eviction insist on the index of each key that they change. A renewal names a session, and none that has ended
    comes back.

    Not covered is a request that was answered, and that a proxy on the way sends once more by itself.
    """

    def __init__(self, holder: Holder, ttl: float, prefix: str) -> None:
        self.holder = holder
        self.ttl = ttl
        self.session = ""
        self.key = f"{prefix}{LEASE}{holder.id}"
        self.epoch = 0
        self._epochs = itertools.count(1)
        # Requests of which a claim may be on its way, and an epoch that is not older than the one it insists on.
        self._doubts: dict[int, int] = {}
        self._lock = StateLock()
        self.entries: dict[int, Entry] = {}
        # Where the next renewal goes on with looking whether claims are still there.
        self.looked = 0

    def is_shared(self, serial: int) -> bool:
        """Whether the request was asked to go on as a reader."""
        entry = self.entries.get(serial)
        return entry is not None and entry.shared

    def drop(self, serial: int, name: str) -> None:
        entry = self.entries.get(serial)
        if entry is not None and entry.tokens is not None:
            entry.tokens.pop(name, None)
            if not entry.tokens:
                self.entries.pop(serial, None)

    def held_alone(self, entry: Entry) -> list[Claim]:
        """What the request is known to hold, for itself alone: no more than that is there of it."""
        if entry.tokens is None or entry.shared or self.is_in_doubt(entry.request.serial):
            return []
        if any(ask.mode is not Mode.EXCLUSIVE for ask in entry.request.asks):
            return []
        holder, serial, asks, _ = entry.request
        return [Claim(holder, serial, ask, entry.tokens[ask.name]) for ask in asks if ask.name in entry.tokens]

    def next_looks(self, claims: list[Claim], most: int) -> list[Claim]:
        """Those of the claims, `most` at a time and all of them in turn, whose being there is to be looked after."""
        if len(claims) <= most:
            return claims
        start = self.looked % len(claims)
        self.looked = start + most
        return (claims + claims)[start : start + most]

    def doubt(self, serial: int) -> None:
        """A claim of this request was not answered: it may still arrive."""
        with self._lock:
            self._doubts[serial] = self.epoch

    def is_in_doubt(self, serial: int) -> bool:
        return serial in self._doubts

    def new_epoch(self) -> list[Operation]:
        """What makes every claim fail that was sent before. Its value is another each time, else nothing changes."""
        value = b64encode(f"{self.holder.label} {next(self._epochs)}".encode()).decode()
        return [lock(self.key, value, self.session)]

    def begin(self, epoch: int) -> None:
        """An epoch is known to have begun: of claims sent before, none can arrive any more."""
        with self._lock:
            # Answers may come in another order than the epochs.
            self.epoch = max(self.epoch, epoch)
            self._doubts = {serial: sent for serial, sent in self._doubts.items() if sent >= self.epoch}

    def record(self, request: Request, now: float) -> Record:
        return Record(request, self.ttl, now)
