"""c. Others sleep in the queue while the lock is held: how long from one's release to the next one's grant?"""

import itertools
import random
import time
from pathlib import Path

from benchmarks.etcd import contestants
from benchmarks.etcd.contestants import Contestant, FencepostAsync, FencepostEtcd
from benchmarks.etcd.server import place_of, running
from benchmarks.quantile import spread
from benchmarks.report import Section, Target
from benchmarks.troop import Troop
from benchmarks.waking import HOLD, JITTER


def run(folder: Path, dice: random.Random, *, quick: bool) -> Section:
    waiters, rounds, batch = (2, 1, 2) if quick else (7, 3, 12)
    names = [name for name, kind in contestants.ALL.items() if kind.across_processes]
    samples: dict[str, list[float]] = {name: [] for name in names}
    with running(None) as server, Troop(waiters) as troop:
        for _ in range(rounds):
            for name in dice.sample(names, len(names)):
                samples[name] += _with_holder(name, place_of(server), troop, dice, batch)
    return _section(samples, waiters)


def _with_holder(name: str, port: int, troop: Troop, dice: random.Random, count: int) -> list[float]:
    holder = contestants.ALL[name](port)
    try:
        found: list[float] = troop.with_open(contestants.ALL[name], port, lambda: _wakes(holder, troop, dice, count))
        return found
    finally:
        holder.close()


def _wakes(holder: Contestant, troop: Troop, dice: random.Random, count: int) -> list[float]:
    """From each release, which begins as soon as the lock was had, to the next grant, in ms."""
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


def _section(samples: dict[str, list[float]], waiters: int) -> Section:
    figures = {name: spread(each) for name, each in samples.items()}
    count = len(next(iter(samples.values())))
    return Section(
        title=f"c. hand-over to {waiters} sleeping waiters, one after the other",
        how="unpinned, the store in memory, as a shared disk is late by itself with one write in a hundred; "
        f"held {HOLD * 1000:g} to {(HOLD + JITTER) * 1000:g} ms, then passed on at once, {count} "
        "hand-overs each, interleaved; from before a release to after the next acquire",
        headings=("", "p50 ms", "p99 ms"),
        rows=[(name, f"{each.p50:.2f}", f"{each.p99:.2f}") for name, each in figures.items()],
        targets=tuple(
            Target(f"{kind.name}, p99 of the hand-over in ms", figures[kind.name].p99, 10.0)
            for kind in (FencepostEtcd, FencepostAsync)
        ),
        figures={name: {"p50_ms": each.p50, "p99_ms": each.p99} for name, each in figures.items()},
    )
