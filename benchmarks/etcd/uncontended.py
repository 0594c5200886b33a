"""a. One process, nobody else: what an acquire and a release cost."""

import random
from pathlib import Path

from benchmarks.etcd import contestants
from benchmarks.etcd.contestants import PEERS, BareHttp2, FencepostEtcd
from benchmarks.etcd.server import place_of, placed, running
from benchmarks.field import opened, timed
from benchmarks.quantile import spread
from benchmarks.report import Section, Target
from benchmarks.timing import Times, ratio

WAYS = ("same", "split")


def run(folder: Path, dice: random.Random, *, quick: bool) -> Section:
    rounds, batch = (3, 5) if quick else (25, 20)
    times = {}
    with running(folder) as server, opened(contestants.ALL, place_of(server), warm=batch) as field:
        for way in WAYS:
            with placed(server, way):
                times[way] = timed(field, dice, rounds=rounds, batch=batch)
    return _section(times, rounds, batch)


def _section(times: dict[str, dict[str, Times]], rounds: int, batch: int) -> Section:
    rows, figures = [], {}
    for name in contestants.ALL:
        token = "yes" if contestants.ALL[name].tokens else "no"
        cells = []
        for way in WAYS:
            p50, p99 = spread(times[way][name].samples)
            to_bare = ratio(times[way][name], times[way][BareHttp2.name])
            cells += [f"{p50:,.0f}", f"{p99:,.0f}", f"{to_bare:.2f}"]
            figures[f"{name}, {way}"] = {"p50_us": p50, "p99_us": p99, "to_bare": to_bare}
        rows.append((name, token, *cells))
    split = times["split"]
    best = min(PEERS, key=lambda name: ratio(split[name], split[BareHttp2.name]))
    return Section(
        title="a. uncontended acquire + release",
        how=f"pinned: server and client on the same CPU, and split between two; the store on a disk; "
        f"{rounds} rounds of {batch} cycles each in shuffled order",
        headings=("", "token", "same p50 µs", "p99", "÷ bare", "split p50 µs", "p99", "÷ bare"),
        rows=rows,
        targets=(
            Target(
                "fencepost etcd:// ÷ bare HTTP/2, split, p50",
                ratio(split[FencepostEtcd.name], split[BareHttp2.name]),
                1.5,
            ),
            Target(f"fencepost etcd:// ÷ {best}, split, p50", ratio(split[FencepostEtcd.name], split[best]), 1.0),
        ),
        figures=figures,
    )
