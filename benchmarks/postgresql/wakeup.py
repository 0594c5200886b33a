"""c. A waiter sleeps while the lock is held: how long after the release does it hold the lock?"""

import random
from pathlib import Path

from benchmarks import waking
from benchmarks.postgresql import contestants
from benchmarks.postgresql.contestants import FencepostAdvisory, FencepostTable
from benchmarks.postgresql.place import server
from benchmarks.report import Section, Target


def run(folder: Path, dice: random.Random, *, quick: bool) -> Section:
    rounds, batch = (1, 3) if quick else (5, 12)
    with server() as port:
        found = waking.wakes(contestants.ALL, port, dice, rounds=rounds, batch=batch)
    return Section(
        title="c. waking a sleeping waiter",
        how=waking.how(rounds * batch),
        headings=("", "p50 ms", "p99 ms"),
        rows=waking.rows(found),
        targets=tuple(
            Target(f"{kind.name}, p50 in ms", found[kind.name].p50, 1.0) for kind in (FencepostAdvisory, FencepostTable)
        ),
        figures=waking.figures(found),
    )
