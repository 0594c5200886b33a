"""d. Many tasks on one event loop, each with a lock of its own: cycles per second, and over how many connections."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from pathlib import Path
from time import perf_counter

import redis.asyncio
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

import fencepost
from benchmarks.machine import pinned, without_collection
from benchmarks.quantile import median
from benchmarks.redis.server import Server, running, settle_on
from benchmarks.report import Section, Target

TASKS = 256
OURS, PEER = "fencepost redis:// async", "redis.asyncio Lock"
# One cycle of the task with that number.
Cycle = Callable[[int], Awaitable[None]]


def run(folder: Path, dice: random.Random, *, quick: bool) -> Section:
    tasks, rounds, seconds = (16, 1, 0.1) if quick else (TASKS, 6, 0.5)
    rates: dict[str, list[float]] = {OURS: [], PEER: []}
    connections: dict[str, int] = {}
    with running(folder) as server, pinned() as cpu:
        settle_on(server, cpu, same=False)
        for _ in range(rounds):
            for name in dice.sample(list(rates), len(rates)):
                measure = _ours if name == OURS else _peer
                with without_collection():
                    rate, connections[name] = asyncio.run(measure(server, tasks, seconds))
                rates[name].append(rate)
    return _section(rates, connections, tasks, f"{rounds} rounds of {seconds:g} s each")


async def _ours(server: Server, tasks: int, seconds: float) -> tuple[float, int]:
    async with fencepost.connect_async(f"redis://127.0.0.1:{server.port}", ttl=3600) as session:
        locks = [session.lock(f"task/{number}") for number in range(tasks)]

        async def cycle(number: int) -> None:
            grant = await locks[number].acquire()
            await grant.release()

        return await _rate(cycle, server, tasks, seconds)


async def _peer(server: Server, tasks: int, seconds: float) -> tuple[float, int]:
    # It has a connection for each task that waits for an answer, and no more than 100 unless told.
    # What it asks again after a slow answer, it may hold without knowing: it is to wait instead.
    once = Retry(NoBackoff(), 0)
    async with redis.asyncio.Redis(
        port=server.port, max_connections=tasks, socket_timeout=60, socket_connect_timeout=60, retry=once
    ) as client:
        locks = [client.lock(f"peer/{number}", timeout=60) for number in range(tasks)]

        async def cycle(number: int) -> None:
            await locks[number].acquire()
            await locks[number].release()

        return await _rate(cycle, server, tasks, seconds)


async def _rate(cycle: Cycle, server: Server, tasks: int, seconds: float) -> tuple[float, int]:
    """Cycles per second of all tasks together, and the connections they had open; the first cycle does not count."""
    await asyncio.gather(*(cycle(number) for number in range(tasks)))
    started_at = perf_counter()
    until = started_at + seconds

    async def repeat(number: int) -> int:
        count = 0
        while perf_counter() < until:
            await cycle(number)
            count += 1
        return count

    counts = await asyncio.gather(*(repeat(number) for number in range(tasks)))
    elapsed = perf_counter() - started_at
    # One of them asks.
    return sum(counts) / elapsed, int(server.info("clients")["connected_clients"]) - 1


def _section(rates: dict[str, list[float]], connections: dict[str, int], tasks: int, conditions: str) -> Section:
    middle = {name: median(each) for name, each in rates.items()}
    times = median([ours / peer for ours, peer in zip(rates[OURS], rates[PEER], strict=True)])
    return Section(
        title=f"d. {tasks} tasks on one event loop, a lock each",
        how=f"the process on one CPU and the server on another, {conditions} in shuffled order",
        headings=("", "cycles/s", "÷ redis.asyncio", "connections"),
        rows=[
            (name, f"{rate:,.0f}", f"{rate / middle[PEER]:.1f}", f"{connections[name]}")
            for name, rate in middle.items()
        ],
        targets=(
            Target("redis.asyncio's cycles ÷ fencepost's", 1 / times, 1 / 5),
            Target("fencepost's connections", connections[OURS], 3),
        ),
        figures={name: {"per_second": middle[name], "connections": connections[name]} for name in rates},
    )
