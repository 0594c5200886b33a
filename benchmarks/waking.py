"""A waiter sleeps while the lock is held: how long after the release does it hold the lock?"""

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
    kinds: Mapping[str, type[Contestant]], place: Any, dice: random.Random, *, rounds: int, batch: int
) -> dict[str, Spread]:
    """For each contestant that works across processes, in shuffled rounds, in ms."""
    names = [name for name, kind in kinds.items() if kind.across_processes]
    samples: dict[str, list[float]] = {name: [] for name in names}
    with Troop(1) as troop:
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
    """From just before the release to just after the acquire, on the clock both processes share."""
    taken = []
    for _ in range(count):
        holder.acquire()
        troop.ask("wake")
        time.sleep(HOLD + dice.uniform(0, JITTER))
        released_ns = time.monotonic_ns()
        holder.release()
        (acquired_ns,) = troop.hear()
        taken.append((acquired_ns - released_ns) / 1e6)
    return taken
