"""Ways of writing one row, timed in rounds of shuffled order on one CPU."""

import random
from collections.abc import Callable, Mapping
from time import perf_counter_ns

from benchmarks.machine import without_collection
from benchmarks.quantile import spread
from benchmarks.report import Section, Target
from benchmarks.timing import Times, ratio

Write = Callable[[int], object]


def race(writes: Mapping[str, Write], dice: random.Random, *, quick: bool) -> dict[str, Times]:
    """Each write gets a number that grows, for the value it writes and for its token."""
    rounds, batch = (3, 20) if quick else (40, 100)
    times = {name: Times() for name in writes}
    number = 0
    for turn in range(rounds + 1):
        for name in dice.sample(list(writes), len(writes)):
            taken = []
            with without_collection():
                for _ in range(batch):
                    number += 1
                    before = perf_counter_ns()
                    writes[name](number)
                    taken.append(perf_counter_ns() - before)
            if turn:  # the first round warms up
                times[name].add(taken)
    return times


def section(
    title: str, how: str, times: Mapping[str, Times], bare: str, targets: Mapping[str, tuple[str, str, float]]
) -> Section:
    """`targets`: what is wanted, of which write, beside which other, and how many times that it may take."""
    rows, figures = [], {}
    for name, each in times.items():
        p50, p99 = spread(each.samples)
        to_bare = ratio(each, times[bare])
        rows.append((name, f"{p50:.1f}", f"{p99:.1f}", f"{to_bare:.2f}"))
        figures[name] = {"p50_us": p50, "p99_us": p99, "to_bare": to_bare}
    return Section(
        title=title,
        how=how,
        headings=("", "p50 µs", "p99 µs", f"÷ {bare}"),
        rows=rows,
        targets=[Target(want, ratio(times[ours], times[other]), most) for want, (ours, other, most) in targets.items()],
        figures=figures,
    )
