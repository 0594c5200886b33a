"""d. 1,000 locks held and left alone: what the session does to keep them."""

import math
import random
import threading
import time
from pathlib import Path

import fencepost
from benchmarks.report import Section, Target
from benchmarks.zookeeper.server import serving
from fencepost.testing.zookeeper import ZookeeperServer

TTL = 6.0


def run(folder: Path, dice: random.Random, *, quick: bool) -> Section:
    count, seconds = (100, TTL / 2) if quick else (1_000, 3 * TTL)
    with serving() as server, fencepost.connect(f"zookeeper://127.0.0.1:{server.port}/held", ttl=TTL) as session:
        grants = [session.lock(f"kept/{number}").acquire() for number in range(count)]
        renewals, packets = session.statistics().renewals, _received(server)
        cpu, started_at = time.process_time(), time.monotonic()
        time.sleep(seconds)
        elapsed = time.monotonic() - started_at
        renewed = session.statistics().renewals - renewals
        # The lease is renewed every third of its span.
        periods = math.ceil(elapsed / (session.terms.span / 3))
        # Asking the server takes one packet itself.
        requests = _received(server) - packets - 1
        share = (time.process_time() - cpu) / elapsed
        threads = sum(thread.name.startswith("fencepost") for thread in threading.enumerate())
        lost = sum(not grant.held for grant in grants)
    return Section(
        title=f"d. {count:,} locks held, ttl {TTL:g} s",
        how=f"watched for {elapsed:.0f} s, {periods} periods; a keep-alive is a write and a listing, in one send",
        headings=("", "measured"),
        rows=[
            ("keep-alives", f"{renewed}"),
            ("requests that the server saw", f"{requests}"),
            ("threads", f"{threads}"),
            ("CPU of the client", f"{share:.3%}"),
            ("lost", f"{lost}"),
        ],
        targets=(
            Target("keep-alives per period", renewed / periods, 1.0),
            Target("requests per keep-alive", requests / max(renewed, 1), 2.0),
            Target("threads", threads, 2),
            Target("CPU share, in %", share * 100, 1.0),
            Target("locks lost", lost, 0),
        ),
        figures={"renewals": renewed, "requests": requests, "periods": periods, "cpu_share": share, "lost": lost},
    )


def _received(server: ZookeeperServer) -> int:
    lines = server.ask("mntr").splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("zk_packets_received")))
