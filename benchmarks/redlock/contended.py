"""b. Eight processes want the same lock all the time and hold it for no time: throughput, and who gets how much."""

import random
from pathlib import Path

from benchmarks.host.contended import share
from benchmarks.quantile import median
from benchmarks.redlock.contestants import ALL, Fencepost, RedlockPy
from benchmarks.redlock.nodes import five_nodes
from benchmarks.report import Section, Target
from benchmarks.troop import Troop


def run(folder: Path, dice: random.Random, *, quick: bool) -> Section:
    processes, rounds, seconds = (3, 1, 0.2) if quick else (8, 3, 2.0)
    counts: dict[str, list[list[int]]] = {name: [] for name in ALL}
    with five_nodes() as ports, Troop(processes) as troop:
        for _ in range(rounds):
            for name in dice.sample(list(ALL), len(ALL)):
                counts[name].append(troop.with_open(ALL[name], ports, lambda: troop.contend(seconds)))
    return _section(counts, processes, rounds, seconds)


def _section(counts: dict[str, list[list[int]]], processes: int, rounds: int, seconds: float) -> Section:
    rate = {name: median([sum(each) / seconds for each in runs]) for name, runs in counts.items()}
    shares = {name: median([share(each) for each in runs]) for name, runs in counts.items()}
    ours, peer = Fencepost.name, RedlockPy.name
    return Section(
        title=f"b. {processes} contending processes, no hold time",
        how=f"unpinned, {rounds} rounds of {seconds:g} s each in shuffled order, all at it 0.2 s before, the middle of "
        f"the rounds; only cycles complete inside the window count",
        headings=("", "acquisitions/s", "÷ redlock-py", "largest ÷ smallest share"),
        rows=[
            (name, f"{rate[name]:,.0f}", f"{rate[name] / max(rate[peer], 1):.2f}", f"{shares[name]:.2f}")
            for name in counts
        ],
        targets=(
            Target("redlock-py's acquisitions ÷ fencepost's", rate[peer] / max(rate[ours], 1), 0.5),
            Target("fencepost's largest ÷ smallest share", shares[ours], 1.2),
        ),
        figures={name: {"per_second": rate[name], "share": shares[name], "cycles": counts[name]} for name in counts},
    )
