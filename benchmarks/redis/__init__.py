"""One Redis server: `redis://` beside a bare socket that sends the same scripts, and the other clients' locks."""

from collections.abc import Callable

from benchmarks.redis import contended, held, tasks, uncontended, wakeup
from benchmarks.report import Section

EXPERIMENTS: dict[str, Callable[..., Section]] = {
    "a": uncontended.run,
    "b": contended.run,
    "c": wakeup.run,
    "d": tasks.run,
    "e": held.run,
}
