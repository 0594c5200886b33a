"""Waiters sleep while the lock is held: how long after a release does the next one hold the lock?"""

import itertools
import random
import time
from collections.abc import Mapping
from typing import Any

from benchmarks.contestant import Contestant
from benchmarks.quantile import Spread, spread
from benchmarks.troop import Troop

HOLD = 0.060
# Polls of 50 or 100 ms and holds of exactly 60 would beat with each other: a little of the hold is left to chance.
JITTER = 0.020


def wakes(
    kinds: Mapping[str, type[Contestant]], place: Any, dice: random.Random, *, rounds: int, batch: int, waiters: int = 1
) -> dict[str, Spread]:
    """For each contestant that works across processes, in shuffled rounds, in ms."""
    names = [name for name, kind in kinds.items() if kind.across_processes]
    samples: dict[str, list[float]] = {name: [] for name in names}
    with Troop(waiters) as troop:
        for _ in range(rounds):
            for name in dice.sample(names, len(names)):
                samples[name] += _with_holder(kinds[name], place, troop, dice, batch)
    return {name: spread(each) for name, each in samples.items()}


def how(count: int, who: str = "two processes") -> str:
    return (
        f"{who}, unpinned; held {HOLD * 1000:g} to {(HOLD + JITTER) * 1000:g} ms, {count} times each, "
        "interleaved; from before the release to after the acquire"
    )


def rows(found: Mapping[str, Spread]) -> list[tuple[str, str, str]]:
    return [(name, f"{each.p50:.3f}", f"{each.p99:.3f}") for name, each in found.items()]


def figures(found: Mapping[str, Spread]) -> dict[str, Any]:
    return {name: {"p50_ms": each.p50, "p99_ms": each.p99} for name, each in found.items()}


def _with_holder(kind: type[Contestant], place: Any, troop: Troop, dice: random.Random, count: int) -> list[float]:
    holder = kind(place)
    try:
        found: list[float] = troop.with_open(kind, place, lambda: _wakes(holder, troop, dice, count))
        return found
    finally:
        holder.close()


def _wakes(holder: Contestant, troop: Troop, dice: random.Random, count: int) -> list[float]:
    """From just before a release, which begins as soon as the lock was had, to just after the next acquire.

    On the clock that all processes share, in ms.
    """
    taken = []
    for _ in range(count):
        holder.acquire()
        troop.ask("wake")
        time.sleep(HOLD + dice.uniform(0, JITTER))
        released_ns = time.monotonic_ns()
        holder.release()
        chain = [released_ns, *sorted(troop.hear())]
        taken += [(after - before) / 1e6 for before, after in itertools.pairwise(chain)]
    return taken
