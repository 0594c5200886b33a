"""b. Eight processes want the same lock all the time and hold it for no time: throughput, and who gets how much."""

import random
from pathlib import Path

from benchmarks.contention import contend
from benchmarks.host import contestants
from benchmarks.host.contestants import FencepostSqlite, FileLock
from benchmarks.report import Section, Target


def run(folder: Path, dice: random.Random, *, quick: bool) -> Section:
    processes, rounds, seconds = (3, 1, 0.2) if quick else (8, 9, 1.0)
    found = contend(contestants.ALL, folder, dice, processes=processes, rounds=rounds, seconds=seconds)
    rate, ours, peer = found.rate, FencepostSqlite.name, FileLock.name
    targets = (
        Target("filelock's acquisitions ÷ fencepost's", rate[peer] / max(rate[ours], 1), 1.0),
        Target("fencepost's largest ÷ smallest share", found.shares[ours], 1.2),
    )
    return found.section(peer, "filelock", targets)
