"""Where an engine under test is, and how to harm it."""

import sqlite3
import tempfile
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Protocol

from fencepost.contract import registry
from fencepost.core.traits import Traits
from fencepost.core.url import parse_url


class Neighbour(Protocol):
    """Another client of the same engine, with its lock on one name."""

    def try_acquire(self) -> bool: ...
    def release(self) -> None: ...


class Site:
    """One engine, fresh for one test. An engine's author subclasses it and offers a `start()` for `SITES`.

    `ttl` is a lease short enough to wait for in a test and long enough for the engine to keep.
    """

    def __init__(
        self,
        url: str,
        *,
        ttl: float = 0.9,
        neighbours: Mapping[str, Callable[["Site", str], Neighbour]] | None = None,
        strangers: Mapping[str, Callable[["Site", str], None]] | None = None,
    ) -> None:
        self.url = url
        self.ttl = ttl
        self.neighbours = dict(neighbours or {})
        # By title: what writes something hostile to where the lock of a name has its records.
        self.strangers = dict(strangers or {})

    @property
    def scheme(self) -> str:
        return parse_url(self.url).scheme

    @property
    def traits(self) -> Traits:
        return registry.engine(self.scheme).traits


@contextmanager
def memory() -> Iterator[Site]:
    yield Site(f"memory://{uuid.uuid4().hex}")


@contextmanager
def sqlite() -> Iterator[Site]:
    with tempfile.TemporaryDirectory(prefix="fencepost-") as folder:
        yield Site(f"sqlite://{Path(folder) / 'locks.db'}", strangers=sqlite_strangers())


def sqlite_strangers() -> dict[str, Callable[[Site, str], None]]:
    """Rows that somebody wrote into the state file by hand: SQLite takes anything in any column."""
    claims = {1: "words", 2: b"\xff", 7: "nonsense", 8: -1.5, 10: NO_TEXT, 11: "words"}
    holders = {1: NO_TEXT, 3: "words", 4: b"\xff", 7: "../../x"}
    return {
        **{f"column {at} of a claim": partial(_leave_row, claim={at: value}) for at, value in claims.items()},
        **{f"column {at} of a holder": partial(_leave_row, holder={at: value}) for at, value in holders.items()},
    }


# A holder that lives, and a claim of it.
HOLDER = ("stranger", "label", 60.0, 1e9, 1, 1, 1, None, 1, 0)
CLAIM = ("name", 0, 5, "stranger", 1, 0, 1, "exclusive", 1, 1, "note", 0.0)
# In a column of text, and no text.
NO_TEXT = object()


def _leave_row(
    site: Site, name: str, claim: Mapping[int, object] | None = None, holder: Mapping[int, object] | None = None
) -> None:
    who = f"stranger of {name}"
    rows = {
        "holder": {**dict(enumerate(HOLDER)), 0: who, **(holder or {})},
        "claim": {**dict(enumerate(CLAIM)), 0: name, 3: who, **(claim or {})},
    }
    connection = sqlite3.connect(parse_url(site.url).path)
    for table, row in rows.items():
        marks = ("CAST(x'fffe' AS TEXT)" if value is NO_TEXT else "?" for value in row.values())
        values = [value for value in row.values() if value is not NO_TEXT]
        connection.execute(f"INSERT OR REPLACE INTO {table} VALUES ({', '.join(marks)})", values)
    connection.commit()
    connection.close()


@contextmanager
def served(engine: str, scheme: str) -> Iterator[Site]:
    """An engine with a server, which its module here starts."""
    start: Callable[[str], AbstractContextManager[Site]] = import_module(f"fencepost.testing.contract.{engine}").site
    with start(scheme) as found:
        yield found


# By scheme: how to start each engine. A test checks that no engine of the registry is missing here.
SITES: dict[str, Callable[[], AbstractContextManager[Site]]] = {
    "memory": memory,
    "sqlite": sqlite,
    "redis": partial(served, "redis", "redis"),
    "rediss": partial(served, "redis", "rediss"),
    "redis+unix": partial(served, "redis", "redis+unix"),
    "redis+sentinel": partial(served, "redis", "redis+sentinel"),
    "redis+cluster": partial(served, "redis", "redis+cluster"),
    "redlock": partial(served, "redlock", "redlock"),
    "etcd": partial(served, "etcd", "etcd"),
    "etcds": partial(served, "etcd", "etcds"),
    "zookeeper": partial(served, "zookeeper", "zookeeper"),
    "consul": partial(served, "consul", "consul"),
    "consuls": partial(served, "consul", "consuls"),
    "postgresql": partial(served, "postgresql", "postgresql"),
    "postgresql+advisory": partial(served, "postgresql", "postgresql+advisory"),
}
