"""c. Others sleep in the queue while the lock is held: how long from one's release to the next one's grant?"""

import random
from pathlib import Path

from benchmarks import waking
from benchmarks.etcd import contestants
from benchmarks.etcd.contestants import FencepostAsync, FencepostEtcd
from benchmarks.etcd.server import place_of, running
from benchmarks.report import Section, Target
from benchmarks.waking import HOLD, JITTER


def run(folder: Path, dice: random.Random, *, quick: bool) -> Section:
    waiters, rounds, batch = (2, 1, 2) if quick else (7, 3, 12)
    with running(None) as server:
        found = waking.wakes(contestants.ALL, place_of(server), dice, rounds=rounds, batch=batch, waiters=waiters)
    return Section(
        title=f"c. hand-over to {waiters} sleeping waiters, one after the other",
        how="unpinned, the store in memory, as a shared disk is late by itself with one write in a hundred; "
        f"held {HOLD * 1000:g} to {(HOLD + JITTER) * 1000:g} ms, then passed on at once, {rounds * batch * waiters} "
        "hand-overs each, interleaved; from before a release to after the next acquire",
        headings=("", "p50 ms", "p99 ms"),
        rows=waking.rows(found),
        targets=tuple(
            Target(f"{kind.name}, p99 of the hand-over in ms", found[kind.name].p99, 10.0)
            for kind in (FencepostEtcd, FencepostAsync)
        ),
        figures=waking.figures(found),
    )
