"""What an engine answers. A returned answer is definite; an exception means that the outcome is unknown."""

from typing import Any, NamedTuple

from fencepost.core.claim import Claim, Request


class Granted(NamedTuple):
    """Every ask of the request is granted, with one token for each, in the order of its asks."""

    tokens: tuple[int, ...]


class Queued(NamedTuple):
    """The request has a place in the queue. `ahead` is who holds, or who stands before us, as far as the engine said.

    `place` is the engine's own bookmark, passed back to `wait`.
    """

    request: Request
    ahead: tuple[Claim, ...]
    place: Any = None


class Busy(NamedTuple):
    """Not granted, and no place taken, because the ask was not to wait."""

    ahead: tuple[Claim, ...]


class Gone(NamedTuple):
    """The holder's lease is not known to the engine: it ended, or was never opened."""

    reason: str


class Cell(NamedTuple):
    """A small value, and the number of its last change, above all earlier ones of its key; empty: None and 0."""

    value: str | None
    version: int


class Renewal(NamedTuple):
    """`alive`: the lease runs anew, from the moment the renewal was sent.

    `gone`: the claims, of those that were to be renewed, that the engine no longer has, as (serial, name),
    each with the reason where the engine knows it.
    """

    alive: bool
    gone: tuple[tuple[int, str, str], ...] = ()


class Eviction(NamedTuple):
    """Somebody took a name from its holder by hand: the audit record."""

    name: str
    token: int
    evicted: str
    by: str
    ago: float


class Snapshot(NamedTuple):
    """Who holds a name, in the order of their grants, who waits for it, in the order in which they will be served, and
    its evictions, latest first.
    """

    name: str
    holders: tuple["Standing", ...]
    waiters: tuple["Standing", ...]
    evictions: tuple[Eviction, ...] = ()


class Standing(NamedTuple):
    """A claim as an operator sees it: for how long it has stood, and how much of its lease is left, in seconds.

    `priority` is that of a waiter; among holders it means nothing.
    """

    claim: Claim
    since: float
    remaining: float
    priority: int = 0
