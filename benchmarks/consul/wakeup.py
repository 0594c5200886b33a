"""c. A waiter sleeps while the lock is held: how long after the release does it hold the lock?"""

import random
from pathlib import Path

from benchmarks import waking
from benchmarks.consul.contestants import FencepostConsul
from benchmarks.consul.server import running
from benchmarks.report import Section, Target


def run(folder: Path, dice: random.Random, *, quick: bool) -> Section:
    rounds, batch = (1, 4) if quick else (1, 60)
    with running() as agent:
        kinds = {FencepostConsul.name: FencepostConsul}
        found = waking.wakes(kinds, agent.port, dice, rounds=rounds, batch=batch)
    return Section(
        title="c. waking a sleeping waiter",
        how=waking.how(rounds * batch),
        headings=("", "p50 ms", "p99 ms"),
        rows=waking.rows(found),
        targets=(Target("p50 in ms", found[FencepostConsul.name].p50, 5.0),),
        figures=waking.figures(found),
    )
