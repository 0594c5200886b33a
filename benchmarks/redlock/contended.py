"""b. Eight processes want the same lock all the time and hold it for no time: throughput, and who gets how much."""

import random
from pathlib import Path

from benchmarks.contention import contend
from benchmarks.redlock.contestants import ALL, Fencepost, RedlockPy
from benchmarks.redlock.nodes import five_nodes
from benchmarks.report import Section, Target


def run(folder: Path, dice: random.Random, *, quick: bool) -> Section:
    processes, rounds, seconds = (3, 1, 0.2) if quick else (8, 3, 2.0)
    with five_nodes() as ports:
        found = contend(ALL, ports, dice, processes=processes, rounds=rounds, seconds=seconds)
    rate, ours, peer = found.rate, Fencepost.name, RedlockPy.name
    targets = (
        Target("redlock-py's acquisitions ÷ fencepost's", rate[peer] / max(rate[ours], 1), 0.5),
        Target("fencepost's largest ÷ smallest share", found.shares[ours], 1.2),
    )
    return found.section(peer, "redlock-py", targets)
