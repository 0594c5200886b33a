"""d. A thousand locks held: what keeping them costs, counted on the way to the agent."""

import math
import random
import threading
import time
from pathlib import Path
from typing import Any

import fencepost
from benchmarks.consul.server import running
from benchmarks.report import Section, Target

TTL = 10.0


def run(folder: Path, dice: random.Random, *, quick: bool) -> Section:
    count, seconds = (50, 4.0) if quick else (1_000, 20.0)
    with running() as agent, fencepost.connect(f"consul://127.0.0.1:{agent.port}", ttl=TTL) as session:
        grants = [session.lock(f"kept/{number}").acquire() for number in range(count)]
        sent = _counted(session)
        renewed, cpu, started_at = session.statistics().renewals, time.process_time(), time.monotonic()
        time.sleep(seconds)
        elapsed = time.monotonic() - started_at
        share = (time.process_time() - cpu) / elapsed
        renewals, requests = session.statistics().renewals - renewed, len(sent)
        periods = math.ceil(elapsed / (session.terms.span / 3))
        threads = sum(thread.name.startswith("fencepost") for thread in threading.enumerate())
        lost = sum(not grant.held for grant in grants)
    figures = {"renewals": renewals, "requests": requests, "periods": periods, "cpu_share": share, "lost": lost}
    return Section(
        title=f"d. {count:,} locks held, ttl {TTL:g} s",
        how=f"watched for {elapsed:.0f} s, which is {periods} periods; a renewal is one keep-alive of the session, and "
        "one read that looks whether claims are still there",
        headings=("", "in all"),
        rows=[(what, f"{number:.4g}") for what, number in {**figures, "threads": threads}.items()],
        targets=[
            Target("keep-alives per period", renewals / periods, 1.0),
            Target("requests per period", requests / periods, 2.0),
            Target("CPU share in %", share * 100, 1.0),
            Target("locks lost", lost, 0),
        ],
        figures=figures,
    )


def _counted(session: fencepost.Session) -> list[bytes]:
    """Everything that the session sends from now on."""
    link: Any = session.engine._store._link  # type: ignore[attr-defined]
    sent: list[bytes] = []
    call = link.call

    def counting(request: bytes) -> Any:
        sent.append(request)
        return call(request)

    link.call = counting
    return sent
