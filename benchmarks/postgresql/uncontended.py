"""a. One process, nobody else: what an acquire and a release cost."""

import os
import random
from pathlib import Path

from benchmarks.field import opened, timed
from benchmarks.machine import pinned
from benchmarks.postgresql import contestants
from benchmarks.postgresql.contestants import BareAdvisory, BareTable, FencepostAdvisory, FencepostTable, Psycopg
from benchmarks.postgresql.place import server
from benchmarks.quantile import spread
from benchmarks.report import Section, Target
from benchmarks.timing import Times, ratio

# tooz makes a connection for each lock: a few of its cycles are enough.
FEWER = {"tooz": 50}


def run(folder: Path, dice: random.Random, *, quick: bool) -> Section:
    rounds, batch = (3, 20) if quick else (25, 100)
    with pinned() as cpu:
        others = set(range(os.cpu_count() or 1)) - {cpu}
        same = _times({cpu}, dice, rounds, batch)
        split = _times(others or {cpu}, dice, rounds, batch)
    return _section(same, split, f"{rounds} rounds of {batch} cycles each in shuffled order")


def _times(cpus: set[int], dice: random.Random, rounds: int, batch: int) -> dict[str, Times]:
    with server(cpus) as port, opened(contestants.ALL, port, warm=10) as field:
        return timed(field, dice, rounds=rounds, batch=batch, fewer=FEWER)


def _limit(name: str) -> str:
    return BareTable.name if "postgresql://" in name or "table" in name else BareAdvisory.name


def _section(same: dict[str, Times], split: dict[str, Times], conditions: str) -> Section:
    rows, figures = [], {}
    for name in same:
        p50, p99 = spread(same[name].samples)
        far50, far99 = spread(split[name].samples)
        near, far = ratio(same[name], same[_limit(name)]), ratio(split[name], split[_limit(name)])
        token = "yes" if contestants.ALL[name].tokens else "no"
        rows.append(
            (name, token, f"{p50:.1f}", f"{p99:.1f}", f"{near:.2f}", f"{far50:.1f}", f"{far99:.1f}", f"{far:.2f}")
        )
        figures[name] = {"same_p50_us": p50, "split_p50_us": far50, "same_to_bare": near, "split_to_bare": far}
    ours, theirs, limit = (split[kind.name] for kind in (FencepostAdvisory, Psycopg, BareAdvisory))
    table = ratio(split[FencepostTable.name], split[BareTable.name])
    return Section(
        title="a. uncontended acquire + release",
        how=f"client and server pinned to one CPU (same) and to two (split), {conditions}; garbage collected before "
        f"each batch and not during it; fsync off; ÷ bare: the bare statements of the same kind",
        headings=("", "token", "same p50 µs", "p99", "÷ bare", "split p50 µs", "p99", "÷ bare"),
        rows=rows,
        targets=(
            Target("postgresql+advisory:// ÷ bare, split, p50", ratio(ours, limit), 1.35),
            Target("postgresql+advisory:// ÷ psycopg, split, p50", ratio(ours, theirs), 1.0),
            Target("postgresql:// ÷ bare statements, split, p50", table, 1.5),
        ),
        figures=figures,
    )
