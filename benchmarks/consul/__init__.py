"""One Consul agent: `consul://` beside a bare socket that sends two requests, and another client."""

from collections.abc import Callable

from benchmarks.consul import contended, held, uncontended, wakeup
from benchmarks.report import Section

EXPERIMENTS: dict[str, Callable[..., Section]] = {
    "a": uncontended.run,
    "b": contended.run,
    "c": wakeup.run,
    "d": held.run,
}
