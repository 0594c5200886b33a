"""One etcd server on a disk: `etcd://` beside a bare HTTP/2 client and the Python peers."""

from collections.abc import Callable

from benchmarks.etcd import contended, held, uncontended, wakeup
from benchmarks.report import Section

EXPERIMENTS: dict[str, Callable[..., Section]] = {
    "a": uncontended.run,
    "b": contended.run,
    "c": wakeup.run,
    "d": held.run,
}
