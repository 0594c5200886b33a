"""d. Many names, many held locks: what one more costs, and what keeping them costs."""

import itertools
import math
import random
import threading
import time
from collections.abc import Callable
from pathlib import Path
from time import perf_counter_ns
from typing import Any

import fencepost
from benchmarks.machine import pinned, without_collection
from benchmarks.quantile import median
from benchmarks.report import Section, Target

NAMES = (1, 10, 100, 1_000, 10_000)
HELD = (1, 10, 100, 1_000)
FLAT = 1.25
TTL = 6.0
# Long enough that no renewal falls into a batch.
CALM_TTL = 3600.0
Cycles = Callable[[int], list[int]]


def run(folder: Path, dice: random.Random, *, quick: bool) -> Section:
    rounds, batch = (5, 50) if quick else (40, 250)
    with pinned():
        times = _costs(folder, dice, rounds, batch)
        upkeep = _upkeep(folder, TTL / 2 if quick else 3 * TTL)
    return _section(times, upkeep, rounds * batch)


def _costs(folder: Path, dice: random.Random, rounds: int, batch: int) -> dict[str, list[float]]:
    """The median cycle of each round in µs."""
    sessions: list[fencepost.Session] = []
    try:
        field: dict[str, Cycles] = {}
        for kind, sizes, make in (("names in turn", NAMES, _in_turn), ("locks held", HELD, _beside)):
            for size in sizes:
                path = folder / f"{kind.replace(' ', '-')}-{size}.db"
                sessions.append(fencepost.connect(f"sqlite:///{path}", ttl=CALM_TTL))
                field[f"{size:,} {kind}"] = make(sessions[-1], size)
        times: dict[str, list[float]] = {name: [] for name in field}
        for cycles in field.values():
            cycles(batch)
        for _ in range(rounds):
            for name in dice.sample(list(field), len(field)):
                with without_collection():
                    times[name].append(median(field[name](batch)) / 1000)
        return times
    finally:
        for session in sessions:
            session.close()


def _in_turn(session: fencepost.Session, size: int) -> Cycles:
    """Every name is used once before any is used again; all have been used before the clock runs."""
    names = [f"name/{number}" for number in range(size)]
    for name in names:
        session.lock(name).acquire().release()
    return _timed(itertools.cycle([session.lock(name) for name in names]))


def _beside(session: fencepost.Session, size: int) -> Cycles:
    """One more lock, beside `size` that are held all the time."""
    for number in range(size):
        session.lock(f"held/{number}").acquire()
    return _timed(itertools.repeat(session.lock("one more")))


def _timed(locks: "itertools.cycle[fencepost.Lock] | itertools.repeat[fencepost.Lock]") -> Cycles:
    def cycles(count: int) -> list[int]:
        taken = []
        for lock in itertools.islice(locks, count):
            before = perf_counter_ns()
            lock.acquire().release()
            taken.append(perf_counter_ns() - before)
        return taken

    return cycles


def _upkeep(folder: Path, seconds: float) -> dict[str, Any]:
    """1,000 held locks left alone: what the session does to keep them."""
    with fencepost.connect(f"sqlite:///{folder}/upkeep.db", ttl=TTL) as session:
        grants = [session.lock(f"kept/{number}").acquire() for number in range(1_000)]
        renewals, cpu, started_at = session.statistics().renewals, time.process_time(), time.monotonic()
        time.sleep(seconds)
        elapsed = time.monotonic() - started_at
        renewed = session.statistics().renewals - renewals
        # The lease is renewed every third of its span.
        periods = elapsed / (session.terms.span / 3)
        return {
            "seconds": elapsed,
            "renewals": renewed,
            "periods": periods,
            "threads": sum(thread.name.startswith("fencepost") for thread in threading.enumerate()),
            "cpu_share": (time.process_time() - cpu) / elapsed,
            "lost": sum(not grant.held for grant in grants),
        }


def _section(times: dict[str, list[float]], upkeep: dict[str, Any], samples: int) -> Section:
    first = {kind: f"1 {kind}" for kind in ("names in turn", "locks held")}

    def relative(name: str) -> float:
        base = times[first[name.split(" ", 1)[1]]]
        return median([a / b for a, b in zip(times[name], base, strict=True)])

    rows = [(name, f"{median(each):.1f}", f"{relative(name):.2f}") for name, each in times.items()]
    rows += [
        ("1,000 held, ttl 6 s: renewal calls", f"{upkeep['renewals']}", f"in {upkeep['periods']:.1f} periods"),
        ("1,000 held: threads", f"{upkeep['threads']}", ""),
        ("1,000 held: CPU", f"{upkeep['cpu_share']:.3%}", ""),
        ("1,000 held: lost", f"{upkeep['lost']}", ""),
    ]
    return Section(
        title="d. scaling of fencepost sqlite://",
        how=f"pinned, {samples} cycles each in interleaved batches; renewals watched for {upkeep['seconds']:.0f} s",
        headings=("", "p50 µs", "÷ with 1"),
        rows=rows,
        targets=(
            *(Target(f"{name} ÷ 1", relative(name), FLAT) for name in ("10,000 names in turn", "1,000 locks held")),
            Target("renewal calls per period", upkeep["renewals"] / math.ceil(upkeep["periods"]), 1.0),
            Target("threads to keep 1,000 locks", upkeep["threads"], 2),
            Target("CPU share to keep 1,000 locks, in %", upkeep["cpu_share"] * 100, 1.0),
            Target("locks lost", upkeep["lost"], 0),
        ),
        figures={
            "cycles": {name: {"p50_us": median(each), "to_first": relative(name)} for name, each in times.items()},
            "upkeep": upkeep,
        },
    )
