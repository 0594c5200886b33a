"""From the scheme of a URL to the engine: loaded from a string, so that nothing imports an engine by name.

A package that brings an engine of its own registers it as an entry point in the group `fencepost.engines`,
with the scheme as its name and a module that defines `AsyncEngine` and `Engine` as its value.
"""

import difflib
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from fencepost._runtime.platform import lacking
from fencepost.errors import Unsupported

if TYPE_CHECKING:
    from fencepost.contract._async.engine import AsyncEngine
    from fencepost.contract._sync.engine import Engine

GROUP = "fencepost.engines"


class Entry(NamedTuple):
    """Where an engine lives, the extra that installs its driver, and what it needs that not every platform has."""

    module: str
    extra: str | None = None
    calls: tuple[str, ...] = ()
    instead: str = ""


# Who waits for whom is known by pidfds, who may write by a lock on a file, and news come by datagrams beside it.
_EMBEDDED = (
    "os.pidfd_open",
    "select.epoll",
    "fcntl.flock",
    "select.poll",
    "socket.AF_UNIX",
    "socket.MSG_DONTWAIT",
    "time.CLOCK_BOOTTIME",
)


BUILT_IN = {
    "memory": Entry("fencepost.engines.memory"),
    "sqlite": Entry(
        "fencepost.engines.sqlite",
        calls=_EMBEDDED,
        instead="memory:// within one process, or a server, such as redis://",
    ),
    "redis": Entry("fencepost.engines.redis"),
    "rediss": Entry("fencepost.engines.redis"),
    "redis+unix": Entry("fencepost.engines.redis", calls=("socket.AF_UNIX",), instead="redis://"),
    "redis+sentinel": Entry("fencepost.engines.redis.sentinel"),
    "redis+cluster": Entry("fencepost.engines.redis.cluster"),
    "etcd": Entry("fencepost.engines.etcd"),
    "etcds": Entry("fencepost.engines.etcd"),
    "zookeeper": Entry("fencepost.engines.zookeeper"),
    "consul": Entry("fencepost.engines.consul"),
    "consuls": Entry("fencepost.engines.consul"),
    "postgresql": Entry("fencepost.engines.postgresql", "postgresql"),
    "postgresql+advisory": Entry("fencepost.engines.postgresql.advisory", "postgresql"),
    "redlock": Entry("fencepost.engines.redis.redlock"),
}


def engines() -> dict[str, Entry]:
    """Every scheme that can be connected to; ours can not be replaced."""
    return {**_plugins(), **BUILT_IN}


def async_engine(scheme: str) -> "type[AsyncEngine]":
    found: type[AsyncEngine] = _load(scheme, "_async.engine", "AsyncEngine")
    return found


def engine(scheme: str) -> "type[Engine]":
    found: type[Engine] = _load(scheme, "_sync.engine", "Engine")
    return found


def _load(scheme: str, half: str, name: str) -> Any:
    """Only the half that is needed: a blocking program need not wait for asyncio."""
    if scheme in BUILT_IN:
        entry = BUILT_IN[scheme]
        if missing := lacking(*entry.calls):
            raise Unsupported(f"{scheme}:// does not run where Python has no {missing[0]}: use {entry.instead}")
        return getattr(_import(scheme, f"{entry.module}.{half}", entry.extra), name)
    plugins = _plugins()
    if scheme not in plugins:
        known = [*BUILT_IN, *plugins]
        near = difflib.get_close_matches(scheme, known, n=1)
        hint = f"did you mean {near[0]}://?" if near else f"choose from {', '.join(f'{each}://' for each in known)}"
        raise ValueError(f"unknown engine '{scheme}://': {hint}")
    return getattr(_import(scheme, plugins[scheme].module, None), name)


def _plugins() -> dict[str, Entry]:
    # Not above: it takes as long to import as all of ours.
    from importlib.metadata import entry_points

    return {point.name: Entry(point.value) for point in entry_points(group=GROUP)}


def _import(scheme: str, module: str, extra: str | None) -> Any:
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if extra is None or (error.name or "").startswith("fencepost"):
            raise
        raise Unsupported(f"{scheme}:// needs the package '{error.name}': pip install 'fencepost[{extra}]'") from error
