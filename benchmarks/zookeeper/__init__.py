"""ZooKeeper: `zookeeper://` beside bare pipelined requests and kazoo."""

from collections.abc import Callable

from benchmarks.report import Section
from benchmarks.zookeeper import contended, held, uncontended, wakeup

EXPERIMENTS: dict[str, Callable[..., Section]] = {
    "a": uncontended.run,
    "b": contended.run,
    "c": wakeup.run,
    "d": held.run,
}
