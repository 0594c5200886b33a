"""c. A waiter sleeps while the lock is held: how long after the release does it hold the lock?"""

import random
from pathlib import Path

from benchmarks import waking
from benchmarks.redis import contestants
from benchmarks.redis.contestants import FencepostRedis
from benchmarks.redis.server import running
from benchmarks.report import Section, Target


def run(folder: Path, dice: random.Random, *, quick: bool) -> Section:
    rounds, batch = (1, 3) if quick else (5, 10)
    with running(folder) as server:
        found = waking.wakes(contestants.ALL, server.port, dice, rounds=rounds, batch=batch)
    return Section(
        title="c. waking a sleeping waiter",
        how=waking.how(rounds * batch, "two processes and the server"),
        headings=("", "p50 ms", "p99 ms"),
        rows=waking.rows(found),
        targets=(Target(f"{FencepostRedis.name}, p50 in ms", found[FencepostRedis.name].p50, 0.4),),
        figures=waking.figures(found),
    )
