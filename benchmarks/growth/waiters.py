"""a. Others wait for a name: what it costs to hand it over, and to take another one meanwhile."""

import random
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.growth.crowd import Crowd, Shift
from benchmarks.growth.place import schemes, site
from benchmarks.quantile import median
from benchmarks.report import Section, Target
from benchmarks.troop import Troop

SIZES = (1, 10, 100, 1_000)
PROCESSES = 2
HEAD_START_NS = 50_000_000
FLAT = 2.0
# Where it is slow, it goes round for longer, until there is something to tell.
FEWEST, MOST_SHIFTS = 10, 20


class Found(NamedTuple):
    """Times in µs; the rest for each time that the lock changed hands, which is also once given back and asked for."""

    hand_over: float
    join: float
    elsewhere: float
    woken: float
    sent: float
    received: float
    cpu: float


def run(folder: Path, dice: random.Random, *, quick: bool) -> Section:
    sizes, batch, seconds = ((1, 10), 10, 0.2) if quick else (SIZES, 100, 1.5)
    found: dict[str, dict[int, Found]] = {}
    with Troop(1) as one, Troop(PROCESSES) as several:
        for scheme in schemes():
            with site(scheme) as place:
                troop = one if place.traits.scope == "process" else several
                found[scheme] = {size: _measured(troop, place.url, size, batch, seconds) for size in sizes}
    return _section(found, seconds)


def _measured(troop: Troop, url: str, waiting: int, batch: int, seconds: float) -> Found:
    def act() -> Found:
        joined = max(troop.share("join", waiting + 1))
        elsewhere = troop.ask("do", "elsewhere", batch)[0]
        shifts: list[Shift] = []
        for _ in range(MOST_SHIFTS):
            start_ns = time.monotonic_ns() + HEAD_START_NS
            shifts += troop.ask("do", "go_round", start_ns, start_ns + int(seconds * 1e9))
            if sum(len(shift.turns) for shift in shifts) >= FEWEST:
                break
        return _found(shifts, elsewhere, joined / (waiting + 1))

    found: Found = troop.with_open(Crowd, url, act)
    return found


def _found(shifts: Sequence[Shift], elsewhere: Sequence[int], joined: float) -> Found:
    turns = sorted(turn for shift in shifts for turn in shift.turns)
    # Tokens tell the order also across processes.
    waits = [(late.got_ns - early.released_ns) / 1000 for early, late in pairwise(turns)]
    return Found(
        hand_over=median(waits),
        join=joined * 1e6,
        elsewhere=median([taken / 1000 for taken in elsewhere]),
        woken=sum(shift.woken for shift in shifts) / len(turns),
        sent=sum(shift.traffic.sent for shift in shifts) / len(turns),
        received=sum(shift.traffic.received for shift in shifts) / len(turns),
        cpu=sum(shift.cpu_s for shift in shifts) / len(turns) * 1e6,
    )


def _section(found: dict[str, dict[int, Found]], seconds: float) -> Section:
    rows, targets = [], []
    for scheme, sizes in found.items():
        first, last = min(sizes), max(sizes)
        for size, each in sizes.items():
            rows.append((f"{scheme}:// {size:>6,}", *_cells(each, sizes[first])))
        most, base = sizes[last], sizes[first]
        targets += [
            Target(f"{scheme}:// hand-over, {last:,} waiters ÷ {first:,}", most.hand_over / base.hand_over, FLAT),
            Target(f"{scheme}:// another name, {last:,} waiters ÷ {first:,}", most.elsewhere / base.elsewhere, FLAT),
            Target(f"{scheme}:// woken by a hand-over, of {last:,}", round(most.woken, 1), 1.0),
        ]
    return Section(
        title="a. a lock goes round among those who wait for it",
        how=f"tasks of {2 * PROCESSES} sessions in {PROCESSES} processes; each holds a few ms and asks again; "
        f"{seconds:g} s each; packets as the kernel counts them and CPU of the clients, for a release and an acquire",
        headings=(
            "waiters",
            "hand-over µs",
            "÷ 1st",
            "queue up µs",
            "other name µs",
            "÷ 1st",
            "woken",
            "sent",
            "received",
            "CPU µs",
        ),
        rows=rows,
        targets=targets,
        figures={
            scheme: {str(size): each._asdict() for size, each in sizes.items()} for scheme, sizes in found.items()
        },
    )


def _cells(each: Found, first: Found) -> tuple[str, ...]:
    def beside(one: Any, other: Any) -> tuple[str, str]:
        return f"{one:,.0f}", f"{one / other:.2f}"

    return (
        *beside(each.hand_over, first.hand_over),
        f"{each.join:,.0f}",
        *beside(each.elsewhere, first.elsewhere),
        f"{each.woken:.2f}",
        f"{each.sent:.1f}",
        f"{each.received:.1f}",
        f"{each.cpu:,.0f}",
    )
