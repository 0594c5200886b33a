"""One host, no server: `sqlite://` beside bare SQLite and the file locks."""

from collections.abc import Callable

from benchmarks.host import contended, scaling, uncontended, wakeup
from benchmarks.report import Section

EXPERIMENTS: dict[str, Callable[..., Section]] = {
    "a": uncontended.run,
    "b": contended.run,
    "c": wakeup.run,
    "d": scaling.run,
}
