"""b. Eight processes want the same lock all the time and hold it for no time: throughput, and who gets how much."""

import random
from pathlib import Path

from benchmarks.consul.contestants import FencepostConsul
from benchmarks.consul.server import running
from benchmarks.quantile import median
from benchmarks.report import Section, Target
from benchmarks.troop import Troop


def run(folder: Path, dice: random.Random, *, quick: bool) -> Section:
    processes, rounds, seconds = (3, 1, 0.5) if quick else (8, 3, 3.0)
    with running() as agent, Troop(processes) as troop:
        counts: list[list[int]] = [
            troop.with_open(FencepostConsul, agent.port, lambda: troop.contend(seconds)) for _ in range(rounds)
        ]
    rate = median([sum(each) / seconds for each in counts])
    share = median([max(each) / max(min(each), 0.5) for each in counts])
    return Section(
        title=f"b. {processes} contending processes, no hold time",
        how=f"unpinned, an agent in memory, {rounds} rounds of {seconds:g} s each, the middle of the rounds",
        headings=("", "acquisitions/s", "largest ÷ smallest share"),
        rows=[(FencepostConsul.name, f"{rate:,.0f}", f"{share:.2f}")],
        targets=[Target("largest ÷ smallest share", share, 1.5)],
        figures={"per_second": rate, "share": share, "cycles": counts},
    )
