"""Who is measured. Each is used as its own documentation recommends, with one object kept for all cycles."""

from benchmarks.contestant import Contestant
from benchmarks.postgresql.contestants.bare import BareAdvisory, BareQueue, BareTable
from benchmarks.postgresql.contestants.ours import (
    FencepostAdvisory,
    FencepostAdvisoryAsync,
    FencepostTable,
    FencepostTableAsync,
)
from benchmarks.postgresql.contestants.peers import Psycopg, Tooz

ALL: dict[str, type[Contestant]] = {
    kind.name: kind
    for kind in (
        BareAdvisory,
        FencepostAdvisory,
        FencepostAdvisoryAsync,
        Psycopg,
        Tooz,
        BareTable,
        BareQueue,
        FencepostTable,
        FencepostTableAsync,
    )
}

__all__ = [
    "ALL",
    "BareAdvisory",
    "BareQueue",
    "BareTable",
    "FencepostAdvisory",
    "FencepostAdvisoryAsync",
    "FencepostTable",
    "FencepostTableAsync",
    "Psycopg",
    "Tooz",
]
