"""b. Eight processes want the same lock all the time and hold it for no time: throughput, and who gets how much."""

import random
from pathlib import Path

from benchmarks.contention import contend
from benchmarks.redis import contestants
from benchmarks.redis.contestants import FencepostRedis, RedisPy
from benchmarks.redis.server import running
from benchmarks.report import Section, Target


def run(folder: Path, dice: random.Random, *, quick: bool) -> Section:
    processes, rounds, seconds = (3, 1, 0.2) if quick else (8, 3, 1.5)
    with running(folder) as server:
        found = contend(contestants.ALL, server.port, dice, processes=processes, rounds=rounds, seconds=seconds)
    rate, ours, peer = found.rate, FencepostRedis.name, RedisPy.name
    targets = (
        Target("redis-py's acquisitions ÷ fencepost's", rate[peer] / max(rate[ours], 1), 1 / 2.5),
        Target("fencepost's largest ÷ smallest share", found.shares[ours], 1.1),
    )
    return found.section(peer, "redis-py", targets)
