"""Contestants opened side by side and timed in turns, so that a drift of the machine's speed hits all of them."""

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from benchmarks.contestant import Contestant
from benchmarks.machine import without_collection
from benchmarks.timing import Times


@contextmanager
def opened(kinds: Mapping[str, type[Contestant]], place: Any, *, warm: int) -> Iterator[dict[str, Contestant]]:
    """One of each kind, with `warm` cycles behind it."""
    field: dict[str, Contestant] = {}
    try:
        for name, kind in kinds.items():
            field[name] = kind(place)
        for contestant in field.values():
            contestant.cycles(warm)
        yield field
    finally:
        for contestant in field.values():
            contestant.close()


def timed(
    field: Mapping[str, Contestant],
    dice: random.Random,
    *,
    rounds: int,
    batch: int,
    fewer: Mapping[str, int] | None = None,
) -> dict[str, Times]:
    """`batch` cycles of each in shuffled rounds; of those in `fewer`, so many times fewer."""
    divisors = fewer or {}
    times = {name: Times() for name in field}
    for _ in range(rounds):
        for name in dice.sample(list(field), len(field)):
            with without_collection():
                times[name].add(field[name].cycles(max(2, batch // divisors.get(name, 1))))
    return times
