"""c. A waiter sleeps while the lock is held: how long after the release does it hold the lock?"""

import random
from pathlib import Path

from benchmarks import waking
from benchmarks.report import Section, Target
from benchmarks.zookeeper import contestants
from benchmarks.zookeeper.contestants import Fencepost, KazooLock
from benchmarks.zookeeper.server import serving


def run(folder: Path, dice: random.Random, *, quick: bool) -> Section:
    rounds, batch = (1, 3) if quick else (4, 12)
    with serving() as server:
        found = waking.wakes(contestants.ALL, server.port, dice, rounds=rounds, batch=batch)
    ours, peer = found[Fencepost.name], found[KazooLock.name]
    return Section(
        title="c. waking a sleeping waiter",
        how=waking.how(rounds * batch),
        headings=("", "p50 ms", "p99 ms"),
        rows=waking.rows(found),
        targets=(Target("fencepost zookeeper:// ÷ kazoo Lock, p50", ours.p50 / peer.p50, 1.0),),
        figures=waking.figures(found),
    )
