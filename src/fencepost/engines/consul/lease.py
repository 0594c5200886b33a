"""One lease as its engine knows it: the session, and what is asked and held on it."""

from base64 import b64encode
from typing import Protocol

from fencepost.core.claim import Claim, Request
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
    """`epoch` is the index of the lease's own key. Every claim insists on it, and changing the key makes sure that
    no claim that is still on its way, however late it arrives, is granted any more."""

    def __init__(self, holder: Holder, ttl: float, prefix: str) -> None:
        self.holder = holder
        self.ttl = ttl
        self.session = ""
        self.key = f"{prefix}{LEASE}{holder.id}"
        self.epoch = 0
        # How often the epoch was changed, and whether a claim may be on its way of which nobody knows.
        self.epochs = 0
        self.doubt = False
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

    def next_looks(self, claims: list[Claim], most: int) -> list[Claim]:
        """Those of the claims, `most` at a time and all of them in turn, whose being there is to be looked after."""
        if len(claims) <= most:
            return claims
        start = self.looked % len(claims)
        self.looked = start + most
        return (claims + claims)[start : start + most]

    def new_epoch(self) -> list[Operation]:
        """What makes every claim fail that was sent before. Its value is another each time, else nothing changes."""
        self.epochs += 1
        value = b64encode(f"{self.holder.label} {self.epochs}".encode()).decode()
        return [lock(self.key, value, self.session)]

    def record(self, request: Request, now: float) -> Record:
        return Record(request, self.ttl, now)
