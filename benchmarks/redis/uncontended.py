"""a. One process, nobody else: what an acquire and a release cost, beside the server and away from it.

On one CPU with the server, all that software does adds up; on another one, as on another host, some of it hides
behind the way to the server and back.
"""

import random
from pathlib import Path

from benchmarks.field import opened, timed
from benchmarks.machine import pinned
from benchmarks.quantile import spread
from benchmarks.redis import contestants
from benchmarks.redis.contestants import BareSocket, FencepostRedis, RedisPy
from benchmarks.redis.server import running, settle_on
from benchmarks.report import Section, Target
from benchmarks.timing import Times, ratio

CORES = ("same", "split")
MOST = {"same": 1.5, "split": 1.3}


def run(folder: Path, dice: random.Random, *, quick: bool) -> Section:
    rounds, batch = (3, 20) if quick else (40, 150)
    times = {}
    with running(folder) as server, pinned() as cpu:
        for core in CORES:
            settle_on(server, cpu, same=core == "same")
            with opened(contestants.ALL, server.port, warm=batch) as field:
                times[core] = timed(field, dice, rounds=rounds, batch=batch)
    return _section(times, f"{rounds} rounds of {batch} cycles each in shuffled order")


def _section(times: dict[str, dict[str, Times]], conditions: str) -> Section:
    ours = FencepostRedis.name
    rows, figures = [], {}
    for name, kind in contestants.ALL.items():
        row, figure = [name, "yes" if kind.tokens else "no"], {}
        for core in CORES:
            each = times[core][name]
            p50, p99 = spread(each.samples)
            to_bare = ratio(each, times[core][BareSocket.name])
            row += [f"{p50:.1f}", f"{p99:.1f}", f"{to_bare:.2f}"]
            figure[core] = {"p50_us": p50, "p99_us": p99, "to_bare": to_bare}
        rows.append(row)
        figures[name] = figure
    return Section(
        title="a. uncontended acquire + release, with the server on the same CPU and on another",
        how=f"one process and the server pinned, {conditions}; garbage collected before each batch and not during it; "
        f"on the same CPU {RedisPy.name} takes {figures[RedisPy.name]['same']['to_bare']:.1f} times the bare socket",
        headings=("", "token", *(f"{core} {what}" for core in CORES for what in ("p50 µs", "p99 µs", "÷ bare"))),
        rows=rows,
        targets=[
            Target(f"{ours} ÷ bare, {core} CPU, p50", figures[ours][core]["to_bare"], most)
            for core, most in MOST.items()
        ],
        figures=figures,
    )
