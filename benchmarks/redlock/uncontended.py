"""a. One process, nobody else: what an acquire and a release cost."""

import random
from pathlib import Path

from benchmarks.field import opened, timed
from benchmarks.machine import pinned
from benchmarks.quantile import spread
from benchmarks.redlock.contestants import ALL, BareSockets, Fencepost
from benchmarks.redlock.nodes import Ports, five_nodes
from benchmarks.report import Section, Target
from benchmarks.timing import Times, ratio


def run(folder: Path, dice: random.Random, *, quick: bool) -> Section:
    rounds, batch = (3, 20) if quick else (40, 100)
    # Servers that are started while pinned share the client's processor: all software cost, and nothing of chance.
    with pinned() as cpu, five_nodes() as ports:
        same = _measure(ports, dice, rounds, batch)
    with five_nodes() as ports, pinned():
        free = _measure(ports, dice, rounds, batch)
    return _section(same, free, f"CPU {cpu}, {rounds} rounds of {batch} cycles each in shuffled order")


def _measure(ports: Ports, dice: random.Random, rounds: int, batch: int) -> dict[str, Times]:
    with opened(ALL, ports, warm=batch) as field:
        return timed(field, dice, rounds=rounds, batch=batch)


def _section(same: dict[str, Times], free: dict[str, Times], conditions: str) -> Section:
    rows, figures = [], {}
    for name in ALL:
        (p50, p99), (free_p50, _) = spread(same[name].samples), spread(free[name].samples)
        to_bare = ratio(same[name], same[BareSockets.name])
        free_to_bare = ratio(free[name], free[BareSockets.name])
        token = "yes" if ALL[name].tokens else "no"
        rows.append(
            (name, token, f"{p50:.0f}", f"{p99:.0f}", f"{to_bare:.2f}", f"{free_p50:.0f}", f"{free_to_bare:.2f}")
        )
        figures[name] = {
            "p50_us": p50,
            "p99_us": p99,
            "to_bare": to_bare,
            "free_p50_us": free_p50,
            "free": free_to_bare,
        }
    ours, bare = Fencepost.name, BareSockets.name
    return Section(
        title="a. uncontended acquire + release on five nodes",
        how=f"one process pinned to {conditions}; servers on the same CPU, and then wherever the system puts them",
        headings=("", "token", "p50 µs", "p99 µs", "÷ bare", "p50 µs, servers free", "÷ bare"),
        rows=rows,
        targets=(
            Target("fencepost ÷ five bare sockets without a token, p50", ratio(same[ours], same[bare]), 1.4),
            Target("the same, servers free", ratio(free[ours], free[bare]), 1.4),
        ),
        figures=figures,
    )
