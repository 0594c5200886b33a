"""d. 1,000 held locks left alone: how many statements keep them."""

import math
import random
import time
from pathlib import Path
from typing import Any

import fencepost
from benchmarks.postgresql.place import server, url
from benchmarks.report import Section, Target
from fencepost.testing.postgresql import query

TTL = 6.0
SCHEMES = ("postgresql+advisory", "postgresql")
# Transactions are counted by the server itself, a second late.
COUNTED = "SELECT xact_commit FROM pg_stat_database WHERE datname = 'postgres'"
OVERDUE = 1.2


def run(folder: Path, dice: random.Random, *, quick: bool) -> Section:
    held, seconds = (100, TTL / 2) if quick else (1_000, 2 * TTL)
    with server() as port:
        found = {scheme: _upkeep(scheme, port, held, seconds) for scheme in SCHEMES}
    return Section(
        title=f"d. {held:,} locks held, ttl {TTL:g} s",
        how=f"watched for {seconds:g} s, after the first renewal; statements as the server counts its transactions",
        headings=("", "renewals", "periods", "transactions", "CPU", "lost"),
        rows=[
            (
                f"fencepost {scheme}://",
                str(each["renewals"]),
                f"{each['periods']:.1f}",
                str(each["transactions"]),
                f"{each['cpu_share']:.3%}",
                str(each["lost"]),
            )
            for scheme, each in found.items()
        ],
        targets=tuple(
            target
            for scheme, each in found.items()
            for target in (
                Target(f"{scheme}:// renewals per period", each["renewals"] / math.ceil(each["periods"]), 1.0),
                Target(f"{scheme}:// locks lost", each["lost"], 0),
            )
        ),
        figures=found,
    )


def _upkeep(scheme: str, port: int, held: int, seconds: float) -> dict[str, Any]:
    with fencepost.connect(url(scheme, port), ttl=TTL) as session:
        grants = [session.lock(f"kept/{number}").acquire() for number in range(held)]
        renewals = session.statistics().renewals
        while session.statistics().renewals == renewals:
            time.sleep(0.01)
        time.sleep(OVERDUE)
        transactions = query(port, COUNTED)[0][0]
        renewals, cpu, started_at = session.statistics().renewals, time.process_time(), time.monotonic()
        time.sleep(seconds)
        elapsed = time.monotonic() - started_at
        counted = session.statistics().renewals - renewals
        return {
            "seconds": elapsed,
            "renewals": counted,
            "periods": elapsed / (session.terms.span / 3),
            # Less the two questions of our own.
            "transactions": max(0, query(port, COUNTED)[0][0] - transactions - 2),
            "cpu_share": (time.process_time() - cpu) / elapsed,
            "lost": sum(not grant.held for grant in grants),
        }
