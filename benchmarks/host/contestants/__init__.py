"""Who is measured. Each is used as its own documentation recommends, with one object kept for all cycles."""

from benchmarks.contestant import Contestant
from benchmarks.host.contestants.bare import BareFlock, BareSqlite
from benchmarks.host.contestants.ours import FencepostAsync, FencepostMemory, FencepostSqlite
from benchmarks.host.contestants.peers import DiskCache, Fasteners, FileLock, Portalocker

ALL: dict[str, type[Contestant]] = {
    kind.name: kind
    for kind in (
        BareFlock,
        BareSqlite,
        FencepostSqlite,
        FencepostAsync,
        FencepostMemory,
        FileLock,
        Portalocker,
        Fasteners,
        DiskCache,
    )
}

__all__ = [
    "ALL",
    "BareFlock",
    "BareSqlite",
    "Contestant",
    "DiskCache",
    "Fasteners",
    "FencepostAsync",
    "FencepostMemory",
    "FencepostSqlite",
    "FileLock",
    "Portalocker",
]
