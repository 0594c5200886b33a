"""b. Eight processes want the same lock all the time and hold it for no time: throughput, and who gets how much."""

import random
from pathlib import Path

from benchmarks.contention import contend
from benchmarks.report import Section, Target
from benchmarks.zookeeper import contestants
from benchmarks.zookeeper.contestants import Fencepost, FencepostAsync, KazooLock
from benchmarks.zookeeper.server import serving


def run(folder: Path, dice: random.Random, *, quick: bool) -> Section:
    processes, rounds, seconds = (3, 1, 0.3) if quick else (8, 9, 1.0)
    with serving() as server:
        found = contend(contestants.ALL, server.port, dice, processes=processes, rounds=rounds, seconds=seconds)
    rate, peer = found.rate, KazooLock.name
    targets = [
        Target(f"kazoo Lock's acquisitions ÷ those of {kind.name}", rate[peer] / max(rate[kind.name], 1), 1 / 1.5)
        for kind in (Fencepost, FencepostAsync)
    ]
    return found.section(peer, "kazoo Lock", targets)
