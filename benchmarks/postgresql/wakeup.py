"""c. A waiter sleeps while the lock is held: how long after the release does it hold the lock?"""

import random
import time
from pathlib import Path

from benchmarks.contestant import Contestant
from benchmarks.host.wakeup import HOLD, JITTER
from benchmarks.postgresql import contestants
from benchmarks.postgresql.contestants import FencepostAdvisory, FencepostTable
from benchmarks.postgresql.place import server
from benchmarks.quantile import spread
from benchmarks.report import Section, Target
from benchmarks.troop import Troop


def run(folder: Path, dice: random.Random, *, quick: bool) -> Section:
    rounds, batch = (1, 3) if quick else (5, 12)
    names = [name for name, kind in contestants.ALL.items() if kind.across_processes]
    samples: dict[str, list[float]] = {name: [] for name in names}
    with server() as port, Troop(1) as troop:
        for _ in range(rounds):
            for name in dice.sample(names, len(names)):
                samples[name] += _with_holder(name, port, troop, dice, batch)
    return _section(samples, rounds * batch)


def _with_holder(name: str, port: int, troop: Troop, dice: random.Random, count: int) -> list[float]:
    holder = contestants.ALL[name](port)
    try:
        found: list[float] = troop.with_open(contestants.ALL[name], port, lambda: _wakes(holder, troop, dice, count))
        return found
    finally:
        holder.close()


def _wakes(holder: Contestant, troop: Troop, dice: random.Random, count: int) -> list[float]:
    """From just before the release to just after the acquire, on the clock both processes share, in ms."""
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


def _section(samples: dict[str, list[float]], count: int) -> Section:
    figures = {name: spread(each) for name, each in samples.items()}
    return Section(
        title="c. waking a sleeping waiter",
        how=f"two processes, unpinned; held {HOLD * 1000:g} to {(HOLD + JITTER) * 1000:g} ms, {count} times each, "
        f"interleaved; from before the release to after the acquire",
        headings=("", "p50 ms", "p99 ms"),
        rows=[(name, f"{each.p50:.3f}", f"{each.p99:.3f}") for name, each in figures.items()],
        targets=tuple(
            Target(f"{kind.name}, p50 in ms", figures[kind.name].p50, 1.0)
            for kind in (FencepostAdvisory, FencepostTable)
        ),
        figures={name: {"p50_ms": each.p50, "p99_ms": each.p99} for name, each in figures.items()},
    )
