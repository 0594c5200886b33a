"""How costs grow on every engine: with those who wait for a name, and with the locks that a session holds."""

from collections.abc import Callable

from benchmarks.growth import held, waiters
from benchmarks.report import Section

EXPERIMENTS: dict[str, Callable[..., Section]] = {
    "a": waiters.run,
    "b": held.run,
}
