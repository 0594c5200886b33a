"""c. A waiter sleeps while the lock is held: how long after the release does it hold the lock?"""

import random
import time
from pathlib import Path

from benchmarks.consul.contestants import FencepostConsul
from benchmarks.consul.server import running
from benchmarks.quantile import spread
from benchmarks.report import Section, Target
from benchmarks.troop import Troop

HOLD = 0.060
JITTER = 0.020


def run(folder: Path, dice: random.Random, *, quick: bool) -> Section:
    count = 4 if quick else 60
    with running() as agent, Troop(1) as troop:
        holder = FencepostConsul(agent.port)
        try:
            taken = troop.with_open(FencepostConsul, agent.port, lambda: _wakes(holder, troop, dice, count))
        finally:
            holder.close()
    p50, p99 = spread(taken)
    return Section(
        title="c. waking a sleeping waiter",
        how=f"two processes, unpinned; held {HOLD * 1000:g} to {(HOLD + JITTER) * 1000:g} ms, {count} times; "
        "from before the release to after the acquire",
        headings=("", "p50 ms", "p99 ms"),
        rows=[(FencepostConsul.name, f"{p50:.2f}", f"{p99:.2f}")],
        targets=[Target("p50 in ms", p50, 5.0)],
        figures={"p50_ms": p50, "p99_ms": p99},
    )


def _wakes(holder: FencepostConsul, troop: Troop, dice: random.Random, count: int) -> list[float]:
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
