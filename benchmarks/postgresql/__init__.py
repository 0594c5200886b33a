"""A PostgreSQL server: `postgresql+advisory://` and `postgresql://` beside bare statements, psycopg and tooz."""

from collections.abc import Callable

from benchmarks.postgresql import contended, uncontended, upkeep, wakeup
from benchmarks.report import Section

EXPERIMENTS: dict[str, Callable[..., Section]] = {
    "a": uncontended.run,
    "b": contended.run,
    "c": wakeup.run,
    "d": upkeep.run,
}
