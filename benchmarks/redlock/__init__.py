"""Five servers: `redlock://` beside five bare sockets and the other libraries of its kind."""

from collections.abc import Callable

from benchmarks.redlock import contended, uncontended
from benchmarks.report import Section

EXPERIMENTS: dict[str, Callable[..., Section]] = {"a": uncontended.run, "b": contended.run}
