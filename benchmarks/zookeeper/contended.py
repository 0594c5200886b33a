"""b. Eight processes want the same lock all the time and hold it for no time: throughput, and who gets how much."""

import random
from pathlib import Path

from benchmarks.quantile import median
from benchmarks.report import Section, Target
from benchmarks.troop import Troop
from benchmarks.zookeeper import contestants
from benchmarks.zookeeper.contestants import Fencepost, FencepostAsync, KazooLock
from benchmarks.zookeeper.server import serving


def run(folder: Path, dice: random.Random, *, quick: bool) -> Section:
    processes, rounds, seconds = (3, 1, 0.3) if quick else (8, 3, 2.0)
    counts: dict[str, list[list[int]]] = {name: [] for name in contestants.ALL}
    with serving() as server, Troop(processes) as troop:
        for _ in range(rounds):
            for name in dice.sample(list(counts), len(counts)):
                counts[name].append(troop.with_open(contestants.ALL[name], server.port, lambda: troop.contend(seconds)))
    return _section(counts, processes, rounds, seconds)


def share(counts: list[int]) -> float:
    """The largest share divided by the smallest; a worker that got nothing counts as half a cycle."""
    return max(counts) / max(min(counts), 0.5)


def _section(counts: dict[str, list[list[int]]], processes: int, rounds: int, seconds: float) -> Section:
    rate = {name: median([sum(each) / seconds for each in runs]) for name, runs in counts.items()}
    shares = {name: median([share(each) for each in runs]) for name, runs in counts.items()}
    peer = rate[KazooLock.name]
    return Section(
        title=f"b. {processes} contending processes, no hold time",
        how=f"unpinned, {rounds} rounds of {seconds:g} s each in shuffled order, all at it 0.2 s before, the middle of "
        f"the rounds; only cycles complete inside the window count",
        headings=("", "acquisitions/s", "÷ kazoo Lock", "largest ÷ smallest share"),
        rows=[
            (name, f"{rate[name]:,.0f}", f"{rate[name] / max(peer, 1):.2f}", f"{shares[name]:.2f}") for name in counts
        ],
        targets=[
            Target(f"kazoo Lock's acquisitions ÷ those of {kind.name}", peer / max(rate[kind.name], 1), 1 / 1.5)
            for kind in (Fencepost, FencepostAsync)
        ],
        figures={name: {"per_second": rate[name], "share": shares[name], "cycles": counts[name]} for name in counts},
    )
