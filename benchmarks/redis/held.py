"""e. A thousand locks are held and left alone: what keeping them costs."""

import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import redis
import redis_lock

import fencepost
from benchmarks.machine import pinned
from benchmarks.redis.server import Server, calls_of_scripts, running, settle_on
from benchmarks.report import Section, Target

TTL = 6
OURS, PEER = "fencepost redis://", "python-redis-lock"


def run(folder: Path, dice: random.Random, *, quick: bool) -> Section:
    count, seconds = (100, TTL / 2) if quick else (1_000, 3.0 * TTL)
    with running(folder) as server, pinned() as cpu:
        settle_on(server, cpu, same=False)
        with _ours(server, count) as held:
            ours = _upkeep(server, held, seconds)
        with _peers(server, count) as held:
            peers = _upkeep(server, held, seconds)
    return _section({OURS: ours, PEER: peers}, count)


@contextmanager
def _ours(server: Server, count: int) -> Iterator[list[str]]:
    with fencepost.connect(f"redis://127.0.0.1:{server.port}", ttl=TTL) as session:
        names = [f"held/{number}" for number in range(count)]
        for name in names:
            session.lock(name).acquire()
        yield names


@contextmanager
def _peers(server: Server, count: int) -> Iterator[list[str]]:
    """One thread for each lock, as its documentation has it."""
    client = redis.Redis(port=server.port)
    locks = [redis_lock.Lock(client, f"peer/{number}", expire=TTL, auto_renewal=True) for number in range(count)]
    for lock in locks:
        lock.acquire()
    try:
        yield [f"lock:peer/{number}" for number in range(count)]
    finally:
        for lock in locks:
            try:
                lock.release()
            except redis_lock.NotAcquired:
                # Lost on the way: that is counted.
                pass
        client.close()


def _upkeep(server: Server, names: list[str], seconds: float) -> dict[str, Any]:
    calls, cpu, started_at = calls_of_scripts(server), time.process_time(), time.monotonic()
    time.sleep(seconds)
    # At once: looking whether the locks are still there is no part of keeping them.
    elapsed, used = time.monotonic() - started_at, time.process_time() - cpu
    with redis.Redis(port=server.port) as client:
        alive = client.exists(*names)
    return {
        "seconds": elapsed,
        "requests_per_second": (calls_of_scripts(server) - calls) / elapsed,
        "cpu_percent": used / elapsed * 100,
        "threads": threading.active_count() - 1,
        "lost": len(names) - int(alive),
    }


def _section(upkeep: dict[str, dict[str, Any]], count: int) -> Section:
    ours = upkeep[OURS]
    return Section(
        title=f"e. {count:,} locks held, time to live {TTL} s",
        how=f"pinned, watched for {ours['seconds']:.0f} s; CPU is the holder's",
        headings=("", "requests/s", "CPU %", "threads", "lost"),
        rows=[
            (
                name,
                f"{each['requests_per_second']:.2f}",
                f"{each['cpu_percent']:.3f}",
                f"{each['threads']}",
                f"{each['lost']}",
            )
            for name, each in upkeep.items()
        ],
        targets=(
            Target("requests/s", ours["requests_per_second"], 2.0),
            Target("CPU in %", ours["cpu_percent"], 0.2),
            Target("locks lost", ours["lost"], 0),
        ),
        figures=upkeep,
    )
