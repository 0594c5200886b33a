"""d. A thousand locks held: what keeping them costs, as the agent counts it."""

import math
import random
import threading
import time
from pathlib import Path
from typing import Any

import fencepost
from benchmarks.consul.server import running
from benchmarks.report import Section, Target
from fencepost.testing.consul import Agent

TTL = 10.0


def run(folder: Path, dice: random.Random, *, quick: bool) -> Section:
    count, seconds = (50, 4.0) if quick else (1_000, 20.0)
    with running() as agent, fencepost.connect(f"consul://127.0.0.1:{agent.port}", ttl=TTL) as session:
        grants = [session.lock(f"kept/{number}").acquire() for number in range(count)]
        before, cpu, started_at = _requests(agent), time.process_time(), time.monotonic()
        time.sleep(seconds)
        elapsed = time.monotonic() - started_at
        after = _requests(agent)
        share = (time.process_time() - cpu) / elapsed
        periods = math.ceil(elapsed / (session.terms.span / 3))
        lost = sum(not grant.held for grant in grants)
    renewals, reads = (after.get(kind, 0) - before.get(kind, 0) for kind in ("session.renew", "txn.read"))
    threads = sum(thread.name.startswith("fencepost") for thread in threading.enumerate())
    figures = {"renewals": renewals, "reads": reads, "periods": periods, "cpu_share": share, "lost": lost}
    return Section(
        title=f"d. {count:,} locks held, ttl {TTL:g} s",
        how=f"watched for {elapsed:.0f} s, which is {periods} periods; a renewal is one keep-alive of the session, and "
        "one read that looks whether claims are still there",
        headings=("", "in all"),
        rows=[(what, f"{number:.4g}") for what, number in {**figures, "threads": threads}.items()],
        targets=[
            Target("keep-alives per period", renewals / periods, 1.0),
            Target("reads per period", reads / periods, 1.0),
            Target("CPU share in %", share * 100, 1.0),
            Target("locks lost", lost, 0),
        ],
        figures=figures,
    )


def _requests(agent: Agent) -> dict[str, int]:
    """How many of each kind the agent has served, from its own metrics of the last intervals."""
    counts: dict[str, int] = {}
    metrics: dict[str, Any] = agent.call("GET", "/v1/agent/metrics")[1]
    for sample in metrics["Samples"]:
        for kind in ("session.renew", "txn.read"):
            if sample["Name"] == f"consul.{kind}":
                counts[kind] = int(sample["Count"])
    return counts
