"""a. One process, nobody else: what an acquire and a release cost, on the server's CPU and on another."""

import os
import random
from pathlib import Path

from benchmarks.field import opened, timed
from benchmarks.quantile import spread
from benchmarks.report import Section, Target
from benchmarks.timing import Times, ratio
from benchmarks.zookeeper import contestants
from benchmarks.zookeeper.contestants import Bare, Fencepost, FencepostAsync, KazooLock
from benchmarks.zookeeper.server import placed, serving

SAME, SPLIT = "same CPU", "two CPUs"


def run(folder: Path, dice: random.Random, *, quick: bool) -> Section:
    rounds, batch, warm = (3, 20, 50) if quick else (20, 60, 1500)
    first, *_, last = cpus = sorted(os.sched_getaffinity(0)) * 2
    times = {}
    with serving() as server, opened(contestants.ALL, server.port, warm=warm) as field:
        for where, other in ((SAME, first), (SPLIT, last)):
            with placed(server, first, other):
                times[where] = timed(field, dice, rounds=rounds, batch=batch)
    return _section(times, f"{rounds} rounds of {batch} cycles each in shuffled order, CPUs {cpus[0]} and {last}")


def _section(times: dict[str, dict[str, Times]], conditions: str) -> Section:
    rows, figures, targets = [], {}, []
    for where, each in times.items():
        for name, one in each.items():
            p50, p99 = spread(one.samples)
            to_bare, to_peer = ratio(one, each[Bare.name]), ratio(one, each[KazooLock.name])
            token = "yes" if contestants.ALL[name].tokens else "no"
            rows.append((f"{name}, {where}", token, f"{p50:.0f}", f"{p99:.0f}", f"{to_bare:.2f}", f"{to_peer:.2f}"))
            figures[f"{name}, {where}"] = {"p50_us": p50, "p99_us": p99, "to_bare": to_bare, "to_kazoo": to_peer}
        targets += [
            Target(f"{kind.name} ÷ bare, p50, {where}", ratio(each[kind.name], each[Bare.name]), 1.75)
            for kind in (Fencepost, FencepostAsync)
        ]
    return Section(
        title="a. uncontended acquire + release",
        how=f"{conditions}; the server does not sync its log, so that clients show; no garbage collected in a batch",
        headings=("", "token", "p50 µs", "p99 µs", "÷ bare", "÷ kazoo Lock"),
        rows=rows,
        targets=targets,
        figures=figures,
    )
