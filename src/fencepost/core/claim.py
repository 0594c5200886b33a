"""The rule of who gets what: asks, claims, and which of the waiting may be granted.

Every shape of lock is an `Ask`: a mutex is exclusive, a read lock shared, a semaphore permit counted
with a limit. `admits` is the whole rule, `admitted` applies it to a queue in the order of its turns.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

from fencepost.core.holder import Holder


class Mode(StrEnum):
    EXCLUSIVE = "exclusive"
    SHARED = "shared"
    COUNTED = "counted"


class Ask(NamedTuple):
    """What is wanted of one name."""

    name: str
    mode: Mode = Mode.EXCLUSIVE
    weight: int = 1
    limit: int = 1
    note: str = ""


class Request(NamedTuple):
    """Asks that are granted together or not at all.

    `(holder.id, serial)` names the request for ever: asking again with the same one is answered the same.
    Of those that wait, the one of the highest `priority` goes first, and of equals the one that came first.
    """

    holder: Holder
    serial: int
    asks: tuple[Ask, ...]
    priority: int = 0

    @property
    def names(self) -> frozenset[str]:
        return frozenset(ask.name for ask in self.asks)


class Claim(NamedTuple):
    """One ask of a request, as an engine records it: granted with a token, or waiting without."""

    holder: Holder
    serial: int
    ask: Ask
    token: int | None = None

    @property
    def name(self) -> str:
        return self.ask.name


def admits(holding: Collection[Ask], ask: Ask) -> bool:
    """Whether `ask` may be granted beside those that hold its name now."""
    match ask.mode:
        case Mode.EXCLUSIVE:
            return not holding
        case Mode.SHARED:
            return all(held.mode is Mode.SHARED for held in holding)
        case Mode.COUNTED:
            return (
                all(held.mode is Mode.COUNTED and held.limit == ask.limit for held in holding)
                and sum(held.weight for held in holding) + ask.weight <= ask.limit
            )


def contradiction(asks: Iterable[Ask], ahead: Collection[Claim]) -> Claim | None:
    """Whoever counts one of the same names up to another limit: nobody can say how many may hold it."""
    limits = {ask.name: ask.limit for ask in asks if ask.mode is Mode.COUNTED}
    for claim in ahead:
        if claim.ask.mode is Mode.COUNTED and claim.ask.limit != limits.get(claim.name, claim.ask.limit):
            return claim
    return None


def admitted(holding: dict[str, list[Ask]], waiting: Iterable[Request], freed: Collection[str]) -> Iterator[Request]:
    """Those of `waiting`, in the order of their turns, that may be granted now that the names in `freed` have changed.

    A request that still waits keeps its turn on all of its names: nobody overtakes it there. Requests that
    touch no freed name only keep theirs. Granting one for several names frees its turn on all of them, so the caller
    looks once more at those that were not in `freed`. `holding` is brought up to date.
    """
    taken: set[str] = set()
    for request in waiting:
        names = request.names
        if (
            taken.isdisjoint(names)
            and not names.isdisjoint(freed)
            and all(admits(holding.get(ask.name, ()), ask) for ask in request.asks)
        ):
            for ask in request.asks:
                holding.setdefault(ask.name, []).append(ask)
            yield request
        else:
            taken |= names
            if taken.issuperset(freed):
                # However long the queue is: behind this one nobody's turn can have come.
                return


def ahead(queue: Sequence[Claim], holder: Holder, serial: int) -> tuple[Claim, ...]:
    """Those of one name's `queue`, holders first, whose end must be watched so that ours is not missed.

    The first of the waiting watches all who hold; everyone else only the one before, so that one death
    wakes one waiter.
    """
    before: Claim | None = None
    for claim in queue:
        if claim.token is None:
            if claim.holder.id == holder.id and claim.serial == serial:
                break
            before = claim
    if before is not None:
        return (before,)
    return tuple(claim for claim in queue if claim.token is not None)
