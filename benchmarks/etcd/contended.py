"""b. Eight processes want the same lock all the time and hold it for no time: throughput, and who gets how much."""

import random
from pathlib import Path

from benchmarks.contention import contend
from benchmarks.etcd import contestants
from benchmarks.etcd.contestants import PEERS, FencepostAsync, FencepostEtcd
from benchmarks.etcd.server import place_of, running
from benchmarks.report import Section, Target

WANTED = 2.5


def run(folder: Path, dice: random.Random, *, quick: bool) -> Section:
    processes, rounds, seconds = (3, 1, 0.3) if quick else (8, 9, 1.0)
    with running(folder) as server:
        place = place_of(server)
        found = contend(contestants.ALL, place, dice, processes=processes, rounds=rounds, seconds=seconds)
    rate = found.rate
    best = max(PEERS, key=rate.__getitem__)
    ours = max((FencepostEtcd.name, FencepostAsync.name), key=rate.__getitem__)
    targets = (
        Target(f"{WANTED} times {best}'s acquisitions ÷ {ours}'s", WANTED * rate[best] / max(rate[ours], 1), 1.0),
        Target(f"{ours}: largest ÷ smallest share", found.shares[ours], 1.1),
    )
    return found.section(best, best, targets)
