"""b. Eight processes want the same lock all the time and hold it for no time: throughput, and who gets how much."""

import random
from pathlib import Path

from benchmarks.contention import contend
from benchmarks.postgresql import contestants
from benchmarks.postgresql.contestants import FencepostAdvisory, FencepostTable, Psycopg, Tooz
from benchmarks.postgresql.place import server
from benchmarks.report import Section, Target


def run(folder: Path, dice: random.Random, *, quick: bool) -> Section:
    processes, rounds, seconds = (3, 1, 0.2) if quick else (8, 3, 1.5)
    with server() as port:
        found = contend(contestants.ALL, port, dice, processes=processes, rounds=rounds, seconds=seconds)
    kinds = (FencepostAdvisory, FencepostTable, Psycopg, Tooz)
    ours, table, theirs, tooz = (found.rate[kind.name] for kind in kinds)
    targets = (
        Target("psycopg's acquisitions ÷ postgresql+advisory://'s", theirs / max(ours, 1), 1.0),
        Target("five times tooz's acquisitions ÷ postgresql://'s", 5 * tooz / max(table, 1), 1.0),
    )
    return found.section(Psycopg.name, "psycopg", targets)
