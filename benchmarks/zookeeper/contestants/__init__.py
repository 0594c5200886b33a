"""Who is measured, each with one object kept for all cycles. A place is the port of the server."""

from benchmarks.contestant import Contestant
from benchmarks.zookeeper.contestants.bare import Bare
from benchmarks.zookeeper.contestants.ours import Fencepost, FencepostAsync
from benchmarks.zookeeper.contestants.peers import KazooCalls, KazooLock

ALL: dict[str, type[Contestant]] = {
    kind.name: kind for kind in (Bare, Fencepost, FencepostAsync, KazooCalls, KazooLock)
}

__all__ = ["ALL", "Bare", "Contestant", "Fencepost", "FencepostAsync", "KazooCalls", "KazooLock"]
