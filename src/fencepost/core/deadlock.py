"""Who waits for whom, and the circles in which nobody gets on."""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from fencepost.core.claim import Claim


class Line(NamedTuple):
    """Those who hold one name, and those who wait for it, in the order in which they will be served."""

    holders: Sequence[Claim]
    waiters: Sequence[Claim]


class Wait(NamedTuple):
    """One who waits for a name, and one who is in its way: a holder, or one who goes before it."""

    waiter: Claim
    blocker: Claim


def deadlocks(lines: Iterable[Line]) -> list[tuple[Wait, ...]]:
    """The circles: each waits for the next, and the last for the first. Every holder in one is told in the shortest.

    Holders are sessions. One that waits in one task for what another of its tasks holds is no circle, since that
    task may go on; so a circle of several, too, is a deadlock only where those who wait are those who hold.
    """
    search = _Search(lines)
    circles: dict[frozenset[str], tuple[Wait, ...]] = {}
    for start in search.places:
        circle = search.shortest_circle(start)
        if circle:
            circles.setdefault(frozenset(wait.waiter.holder.id for wait in circle), circle)
    return list(circles.values())


class _Search:
    """In the way of each is all of its line before it: that is never written out, since it grows with the square."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self._lines: list[tuple[Claim, ...]] = []
        # Of each line: where each holder stands first.
        self._first: list[dict[str, int]] = []
        # Where each waits: the numbers of the line and of the place in it.
        self.places: dict[str, list[tuple[int, int]]] = {}
        for number, line in enumerate(lines):
            claims = (*line.holders, *line.waiters)
            self._lines.append(claims)
            self._first.append({claims[at].holder.id: at for at in reversed(range(len(claims)))})
            for at in range(len(line.holders), len(claims)):
                self.places.setdefault(claims[at].holder.id, []).append((number, at))

    def shortest_circle(self, start: str) -> tuple[Wait, ...]:
        """By breadth first. Of each line, what was looked at once is not looked at again."""
        came: dict[str, Wait] = {}
        looked: dict[int, int] = {}
        frontier = deque([start])
        while frontier:
            here = frontier.popleft()
            for number, at in self.places.get(here, ()):
                first = self._first[number].get(start, at)
                if first < at and here != start:
                    return _path(came, start, Wait(self._lines[number][at], self._lines[number][first]))
            for number, at in self.places.get(here, ()):
                for blocker in self._lines[number][looked.get(number, 0) : at]:
                    there = blocker.holder.id
                    if there != start and there not in came:
                        came[there] = Wait(self._lines[number][at], blocker)
                        frontier.append(there)
                looked[number] = max(at, looked.get(number, 0))
        return ()


def _path(came: dict[str, Wait], start: str, last: Wait) -> tuple[Wait, ...]:
    path = deque([last])
    while path[0].waiter.holder.id != start:
        path.appendleft(came[path[0].waiter.holder.id])
    return tuple(path)
