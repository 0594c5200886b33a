"""b. Eight processes want the same lock all the time and hold it for no time: throughput, and who gets how much."""

import random
from pathlib import Path

from benchmarks.consul.contestants import FencepostConsul
from benchmarks.consul.server import running
from benchmarks.contention import contend
from benchmarks.report import Section, Target


def run(folder: Path, dice: random.Random, *, quick: bool) -> Section:
    processes, rounds, seconds = (3, 1, 0.5) if quick else (8, 3, 3.0)
    name = FencepostConsul.name
    with running() as agent:
        kinds = {name: FencepostConsul}
        found = contend(kinds, agent.port, dice, processes=processes, rounds=rounds, seconds=seconds)
    rate, share = found.rate[name], found.shares[name]
    return Section(
        title=found.title,
        how=f"unpinned, an agent in memory, {rounds} rounds of {seconds:g} s each, the middle of the rounds",
        headings=("", "acquisitions/s", "largest ÷ smallest share"),
        rows=[(name, f"{rate:,.0f}", f"{share:.2f}")],
        targets=[Target("largest ÷ smallest share", share, 1.5)],
        figures={"per_second": rate, "share": share, "cycles": found.counts[name]},
    )
