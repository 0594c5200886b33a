"""Who waits for whom, and the circles in which nobody gets on."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from fencepost.core.claim import Claim


class Wait(NamedTuple):
    """One who waits for a name, and one who is in its way: a holder, or one who goes before it."""

    waiter: Claim
    blocker: Claim


def waits(holders: Sequence[Claim], waiters: Sequence[Claim]) -> Iterator[Wait]:
    """What stands in whose way on one name, whose waiters are in the order in which they will be served."""
    in_the_way = list(holders)
    for waiter in waiters:
        for blocker in in_the_way:
            yield Wait(waiter, blocker)
        in_the_way.append(waiter)


def deadlocks(found: Iterable[Wait]) -> list[tuple[Wait, ...]]:
    """The circles: each waits for the next, and the last for the first. Every holder in one is told in the shortest.

    Holders are sessions. One that waits in one task for what another of its tasks holds is no circle, since that
    task may go on; so a circle of several, too, is a deadlock only where those who wait are those who hold.
    """
    ways: dict[str, list[Wait]] = {}
    for wait in found:
        if wait.waiter.holder.id != wait.blocker.holder.id:
            ways.setdefault(wait.waiter.holder.id, []).append(wait)
    circles: dict[frozenset[str], tuple[Wait, ...]] = {}
    for start in ways:
        circle = _shortest_circle(start, ways)
        if circle:
            circles.setdefault(frozenset(wait.waiter.holder.id for wait in circle), circle)
    return list(circles.values())


def _shortest_circle(start: str, ways: dict[str, list[Wait]]) -> tuple[Wait, ...]:
    paths: dict[str, tuple[Wait, ...]] = {}
    frontier = deque([start])
    while frontier:
        here = frontier.popleft()
        for wait in ways.get(here, ()):
            there = wait.blocker.holder.id
            path = (*paths.get(here, ()), wait)
            if there == start:
                return path
            if there not in paths:
                paths[there] = path
                frontier.append(there)
    return ()
