"""What a fence adds to the write that it guards, beside that write alone."""

from collections.abc import Callable

from benchmarks.fences import mariadb, postgresql, sqlite
from benchmarks.report import Section

EXPERIMENTS: dict[str, Callable[..., Section]] = {
    "a": sqlite.run,
    "b": postgresql.run,
    "c": mariadb.run,
}
