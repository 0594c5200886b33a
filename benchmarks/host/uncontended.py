"""a. One process, nobody else: what an acquire and a release cost."""

import random
from pathlib import Path

from benchmarks.field import opened, timed
from benchmarks.host import contestants
from benchmarks.host.contestants import BareSqlite, FencepostSqlite, FileLock
from benchmarks.machine import pinned
from benchmarks.quantile import spread
from benchmarks.report import Section, Target
from benchmarks.timing import Times, ratio


def run(folder: Path, dice: random.Random, *, quick: bool) -> Section:
    rounds, batch = (5, 40) if quick else (60, 200)
    with pinned() as cpu, opened(contestants.ALL, folder, warm=batch) as field:
        times = timed(field, dice, rounds=rounds, batch=batch)
    return _section(times, f"CPU {cpu}, {rounds} rounds of {batch} cycles each in shuffled order")


def _section(times: dict[str, Times], conditions: str) -> Section:
    bare, peer, ours = (times[kind.name] for kind in (BareSqlite, FileLock, FencepostSqlite))
    rows, figures = [], {}
    for name, each in times.items():
        p50, p99 = spread(each.samples)
        to_bare, to_peer = ratio(each, bare), ratio(each, peer)
        token = "yes" if contestants.ALL[name].tokens else "no"
        rows.append((name, token, f"{p50:.1f}", f"{p99:.1f}", f"{to_bare:.2f}", f"{to_peer:.2f}"))
        figures[name] = {"p50_us": p50, "p99_us": p99, "to_bare_sqlite": to_bare, "to_filelock": to_peer}
    return Section(
        title="a. uncontended acquire + release",
        how=f"one process pinned to {conditions}; garbage collected before each batch and not during it",
        headings=("", "token", "p50 µs", "p99 µs", "÷ bare SQLite", "÷ filelock"),
        rows=rows,
        targets=(
            Target("fencepost sqlite:// ÷ bare SQLite, p50", ratio(ours, bare), 2.5),
            Target("fencepost sqlite:// ÷ filelock, p50", ratio(ours, peer), 1.0),
        ),
        figures=figures,
    )
