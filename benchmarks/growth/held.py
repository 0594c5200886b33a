"""b. A session holds many locks: what one more costs, and what it costs to keep them."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from time import perf_counter_ns
from typing import NamedTuple

import fencepost
from benchmarks.growth.place import TTL, schemes, site
from benchmarks.growth.traffic import traffic
from benchmarks.machine import without_collection
from benchmarks.quantile import median
from benchmarks.report import Section, Target

SIZES = (1, 10, 100, 1_000, 10_000)
ABREAST = 100
WARM_UP = 20
FLAT = 2.0


class Found(NamedTuple):
    """Times in µs."""

    cycle: float
    renewal: float
    renewal_cpu: float
    sent: float
    lost: int


def run(folder: Path, dice: random.Random, *, quick: bool) -> Section:
    sizes, rounds, batch = ((1, 100), 1, 10) if quick else (SIZES, 3, 60)
    found = {}
    for scheme in schemes():
        with site(scheme) as place:
            found[scheme] = asyncio.run(_measured(place.url, sizes, rounds, batch))
    return _section(found)


async def _measured(url: str, sizes: Sequence[int], rounds: int, batch: int) -> dict[int, Found]:
    found = {}
    async with _holding(url) as (session, grants):
        for size in sizes:
            await _hold(session, grants, size)
            with without_collection():
                # Others use the machine, too: the quietest round tells most.
                cycle = min([median(await _cycles(session, batch)) for _ in range(rounds)])
                found[size] = await _renewals(session, grants, cycle, rounds)
    return found


@asynccontextmanager
async def _holding(url: str) -> AsyncIterator[tuple[fencepost.AsyncSession, list[fencepost.AsyncGrant]]]:
    async with fencepost.connect_async(url, ttl=TTL) as session:
        yield session, []


async def _hold(session: fencepost.AsyncSession, grants: list[fencepost.AsyncGrant], size: int) -> None:
    while len(grants) < size:
        more = range(len(grants), min(size, len(grants) + ABREAST))
        grants += await asyncio.gather(*(session.lock(f"held/{number}").acquire() for number in more))


async def _cycles(session: fencepost.AsyncSession, count: int) -> list[float]:
    lock = session.lock("one more")
    taken = []
    for _ in range(WARM_UP + count):
        before = perf_counter_ns()
        await (await lock.acquire()).release()
        taken.append((perf_counter_ns() - before) / 1000)
    return taken[WARM_UP:]


async def _renewals(
    session: fencepost.AsyncSession, grants: list[fencepost.AsyncGrant], cycle: float, count: int
) -> Found:
    """What the keeper does once in a third of the ttl, done now."""
    keeper = await session.keeper()
    taken, spent = [], []
    # Scripts and statements are prepared by whoever needs them first.
    await keeper._renew()
    before = traffic()
    for _ in range(count):
        cpu, started = time.process_time_ns(), perf_counter_ns()
        await keeper._renew()
        taken.append((perf_counter_ns() - started) / 1000)
        spent.append((time.process_time_ns() - cpu) / 1000)
    sent = traffic().since(before).sent / count
    return Found(cycle, min(taken), min(spent), sent, sum(not grant.held for grant in grants))


def _section(found: dict[str, dict[int, Found]]) -> Section:
    rows, targets = [], []
    for scheme, sizes in found.items():
        first, last = min(sizes), max(sizes)
        base, most = sizes[first], sizes[last]
        for size, each in sizes.items():
            rows.append(
                (
                    f"{scheme}:// {size:>7,}",
                    f"{each.cycle:,.0f}",
                    f"{each.cycle / base.cycle:.2f}",
                    f"{each.renewal / 1000:,.2f}",
                    f"{each.renewal_cpu / 1000:,.2f}",
                    f"{each.sent:.1f}",
                    str(each.lost),
                )
            )
        targets += [
            Target(f"{scheme}:// one more lock, {last:,} held ÷ {first:,}", most.cycle / base.cycle, FLAT),
            Target(
                f"{scheme}:// packets of a renewal for each 1,000 of {last:,} held ÷ for {first:,}",
                most.sent / max(1, last / 1000) / max(1, base.sent),
                FLAT,
            ),
            Target(f"{scheme}:// locks lost", most.lost, 0),
        ]
    return Section(
        title="b. locks held by one session",
        how="one process; the quietest of a few rounds; packets as the kernel counts them; CPU of the holder, "
        "for one renewal of all that it holds",
        headings=("held", "one more µs", "÷ 1st", "renewal ms", "CPU ms", "sent", "lost"),
        rows=rows,
        targets=targets,
        figures={
            scheme: {str(size): each._asdict() for size, each in sizes.items()} for scheme, sizes in found.items()
        },
    )
