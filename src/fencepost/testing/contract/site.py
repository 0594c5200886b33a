"""Where an engine under test is, and how to harm it."""

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
        self, url: str, *, ttl: float = 0.9, neighbours: Mapping[str, Callable[["Site", str], Neighbour]] | None = None
    ) -> None:
        self.url = url
        self.ttl = ttl
        self.neighbours = dict(neighbours or {})

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
        yield Site(f"sqlite://{Path(folder) / 'locks.db'}")


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
