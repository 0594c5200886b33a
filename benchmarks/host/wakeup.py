"""c. A waiter sleeps while the lock is held: how long after the release does it hold the lock?"""

import random
from pathlib import Path

from benchmarks import waking
from benchmarks.host import contestants
from benchmarks.host.contestants import FencepostSqlite
from benchmarks.report import Section, Target


def run(folder: Path, dice: random.Random, *, quick: bool) -> Section:
    rounds, batch = (1, 3) if quick else (5, 16)
    found = waking.wakes(contestants.ALL, folder, dice, rounds=rounds, batch=batch)
    return Section(
        title="c. waking a sleeping waiter",
        how=waking.how(rounds * batch),
        headings=("", "p50 ms", "p99 ms"),
        rows=waking.rows(found),
        targets=(Target("fencepost sqlite://, p50 in ms", found[FencepostSqlite.name].p50, 0.5),),
        figures=waking.figures(found),
    )
