"""a. One process, nobody else: what an acquire and a release cost, on the agent's CPU and on another."""

import random
from pathlib import Path

from benchmarks.consul.contestants import ALL, BareLock, FencepostAsync, FencepostConsul
from benchmarks.consul.server import running, settle_on
from benchmarks.field import opened, timed
from benchmarks.machine import pinned
from benchmarks.quantile import spread
from benchmarks.report import Section, Target
from benchmarks.timing import Times, ratio

CORES = ("same", "split")
MOST = 1.5


def run(folder: Path, dice: random.Random, *, quick: bool) -> Section:
    rounds, batch = (2, 10) if quick else (25, 60)
    times = {}
    with running() as agent, pinned() as cpu:
        for core in CORES:
            settle_on(agent, cpu, same=core == "same")
            with opened(ALL, agent.port, warm=batch) as field:
                times[core] = timed(field, dice, rounds=rounds, batch=batch)
    return _section(times, f"{rounds} rounds of {batch} cycles each in shuffled order")


def _section(times: dict[str, dict[str, Times]], conditions: str) -> Section:
    rows, figures = [], {}
    for name, kind in ALL.items():
        row, figure = [name, "yes" if kind.tokens else "no"], {}
        for core in CORES:
            each = times[core][name]
            p50, p99 = spread(each.samples)
            to_bare = ratio(each, times[core][BareLock.name])
            row += [f"{p50:.0f}", f"{p99:.0f}", f"{to_bare:.2f}"]
            figure[core] = {"p50_us": p50, "p99_us": p99, "to_bare": to_bare}
        rows.append(row)
        figures[name] = figure
    return Section(
        title="a. uncontended acquire + release, with the agent on the same CPU and on another",
        how=f"one process and an agent in memory, pinned, {conditions}; garbage collected before each batch",
        headings=("", "token", *(f"{core} {what}" for core in CORES for what in ("p50 µs", "p99 µs", "÷ bare"))),
        rows=rows,
        targets=[
            Target(f"{kind.name} ÷ {BareLock.name}, {core} CPU, p50", figures[kind.name][core]["to_bare"], MOST)
            for kind in (FencepostConsul, FencepostAsync)
            for core in CORES
        ],
        figures=figures,
    )
