"""b. Eight processes want the same lock all the time and hold it for no time: throughput, and who gets how much."""

import random
from pathlib import Path

from benchmarks.etcd import contestants
from benchmarks.etcd.contestants import PEERS, FencepostAsync, FencepostEtcd
from benchmarks.etcd.server import place_of, running
from benchmarks.quantile import median
from benchmarks.report import Section, Target
from benchmarks.troop import Troop

WANTED = 2.5


def run(folder: Path, dice: random.Random, *, quick: bool) -> Section:
    processes, rounds, seconds = (3, 1, 0.3) if quick else (8, 3, 2.0)
    names = [name for name, kind in contestants.ALL.items() if kind.across_processes]
    counts: dict[str, list[list[int]]] = {name: [] for name in names}
    with running(folder) as server, Troop(processes) as troop:
        for _ in range(rounds):
            for name in dice.sample(names, len(names)):
                kind = contestants.ALL[name]
                counts[name].append(troop.with_open(kind, place_of(server), lambda: troop.contend(seconds)))
    return _section(counts, processes, rounds, seconds)


def share(counts: list[int]) -> float:
    """The largest share divided by the smallest; a worker that got nothing counts as half a cycle."""
    return max(counts) / max(min(counts), 0.5)


def _section(counts: dict[str, list[list[int]]], processes: int, rounds: int, seconds: float) -> Section:
    rate = {name: median([sum(each) / seconds for each in runs]) for name, runs in counts.items()}
    shares = {name: median([share(each) for each in runs]) for name, runs in counts.items()}
    best = max(PEERS, key=rate.__getitem__)
    ours = max((FencepostEtcd.name, FencepostAsync.name), key=rate.__getitem__)
    return Section(
        title=f"b. {processes} contending processes, no hold time",
        how=f"unpinned, {rounds} rounds of {seconds:g} s each in shuffled order, all at it 0.2 s before, the middle of "
        f"the rounds; only cycles complete inside the window count",
        headings=("", "acquisitions/s", f"÷ {best}", "largest ÷ smallest share"),
        rows=[
            (name, f"{rate[name]:,.0f}", f"{rate[name] / max(rate[best], 1):.2f}", f"{shares[name]:.2f}")
            for name in counts
        ],
        targets=(
            Target(f"{WANTED} times {best}'s acquisitions ÷ {ours}'s", WANTED * rate[best] / max(rate[ours], 1), 1.0),
            Target(f"{ours}: largest ÷ smallest share", shares[ours], 1.1),
        ),
        figures={name: {"per_second": rate[name], "share": shares[name], "cycles": counts[name]} for name in counts},
    )
