"""d. A thousand locks held and left alone: what a session does to keep them."""

import math
import random
import time
from pathlib import Path

import fencepost
from benchmarks.etcd.server import keep_alives, place_of, running, threads
from benchmarks.report import Section, Target

TTL = 6.0


def run(folder: Path, dice: random.Random, *, quick: bool) -> Section:
    locks, seconds = (50, TTL / 2) if quick else (1_000, 3 * TTL)
    with running(folder) as server:
        port = place_of(server)
        with fencepost.connect(f"etcd://127.0.0.1:{port}", ttl=TTL) as session:
            grants = [session.lock(f"kept/{number}").acquire() for number in range(locks)]
            asked, cpu, started_at = keep_alives(port), time.process_time(), time.monotonic()
            time.sleep(seconds)
            elapsed, used = time.monotonic() - started_at, time.process_time() - cpu
            asked = keep_alives(port) - asked
            # The lease is renewed every third of its span.
            periods = elapsed / (session.terms.span / 3)
            found = {
                "keep_alives": asked,
                "periods": periods,
                "threads": threads(),
                "cpu_share": used / elapsed,
                "lost": sum(not grant.held for grant in grants),
            }
    return Section(
        title=f"d. {locks:,} locks held for {elapsed:.0f} s with a ttl of {TTL:g} s",
        how="keep-alives as the server counts them",
        headings=("", ""),
        rows=[
            ("keep-alives", f"{asked} in {periods:.1f} periods"),
            ("threads", str(found["threads"])),
            ("CPU", f"{found['cpu_share']:.3%}"),
            ("lost", str(found["lost"])),
        ],
        targets=(
            Target("keep-alives per period", asked / math.ceil(periods), 1.0),
            Target("CPU share, in %", found["cpu_share"] * 100, 1.0),
            Target("locks lost", found["lost"], 0),
        ),
        figures=found,
    )
