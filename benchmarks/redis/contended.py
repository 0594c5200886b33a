"""b. Eight processes want the same lock all the time and hold it for no time: throughput, and who gets how much."""

import random
from pathlib import Path

from benchmarks.quantile import median, share
from benchmarks.redis import contestants
from benchmarks.redis.contestants import FencepostRedis, RedisPy
from benchmarks.redis.server import running
from benchmarks.report import Section, Target
from benchmarks.troop import Troop


def run(folder: Path, dice: random.Random, *, quick: bool) -> Section:
    processes, rounds, seconds = (3, 1, 0.2) if quick else (8, 3, 1.5)
    names = list(contestants.ALL)
    counts: dict[str, list[list[int]]] = {name: [] for name in names}
    with running(folder) as server, Troop(processes) as troop:
        for _ in range(rounds):
            for name in dice.sample(names, len(names)):
                counts[name].append(troop.with_open(contestants.ALL[name], server.port, lambda: troop.contend(seconds)))
    return _section(counts, processes, rounds, seconds)


def _section(counts: dict[str, list[list[int]]], processes: int, rounds: int, seconds: float) -> Section:
    rate = {name: median([sum(each) / seconds for each in runs]) for name, runs in counts.items()}
    shares = {name: median([share(each) for each in runs]) for name, runs in counts.items()}
    ours, peer = FencepostRedis.name, RedisPy.name
    return Section(
        title=f"b. {processes} contending processes, no hold time",
        how=f"unpinned, {rounds} rounds of {seconds:g} s each in shuffled order, all at it 0.2 s before, the middle of "
        f"the rounds; only cycles complete inside the window count",
        headings=("", "acquisitions/s", "÷ redis-py", "largest ÷ smallest share"),
        rows=[
            (name, f"{rate[name]:,.0f}", f"{rate[name] / max(rate[peer], 1):.2f}", f"{shares[name]:.2f}")
            for name in counts
        ],
        targets=(
            Target("redis-py's acquisitions ÷ fencepost's", rate[peer] / max(rate[ours], 1), 1 / 2.5),
            Target("fencepost's largest ÷ smallest share", shares[ours], 1.1),
        ),
        figures={name: {"per_second": rate[name], "share": shares[name], "cycles": counts[name]} for name in counts},
    )
