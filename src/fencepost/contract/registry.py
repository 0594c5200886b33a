"""From the scheme of a URL to the engine: loaded from a string, so that nothing imports an engine by name.

A package that brings an engine of its own registers it as an entry point in the group `fencepost.engines`,
with the scheme as its name and a module that defines `AsyncEngine` and `Engine` as its value.
"""

import difflib
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, NamedTuple

from fencepost.errors import Unsupported

if TYPE_CHECKING:
    from fencepost.contract._async.engine import AsyncEngine
    from fencepost.contract._sync.engine import Engine

GROUP = "fencepost.engines"


class Entry(NamedTuple):
    """Where an engine lives, and the extra that installs its driver."""

    module: str
    extra: str | None = None


BUILT_IN = {
    "memory": Entry("fencepost.engines.memory"),
    "sqlite": Entry("fencepost.engines.sqlite"),
    "redis": Entry("fencepost.engines.redis"),
}


def engines() -> dict[str, Entry]:
    """Every scheme that can be connected to, ours first."""
    others = {point.name: Entry(point.value) for point in entry_points(group=GROUP)}
    return {**others, **BUILT_IN}


def async_engine(scheme: str) -> "type[AsyncEngine]":
    found: type[AsyncEngine] = _module(scheme).AsyncEngine
    return found


def engine(scheme: str) -> "type[Engine]":
    found: type[Engine] = _module(scheme).Engine
    return found


def _module(scheme: str) -> Any:
    known = engines()
    entry = known.get(scheme)
    if entry is None:
        near = difflib.get_close_matches(scheme, known, n=1)
        hint = f"did you mean {near[0]}://?" if near else f"choose from {', '.join(f'{each}://' for each in known)}"
        raise ValueError(f"unknown engine '{scheme}://': {hint}")
    try:
        return import_module(entry.module)
    except ModuleNotFoundError as error:
        if entry.extra is None or (error.name or "").startswith("fencepost"):
            raise
        raise Unsupported(
            f"{scheme}:// needs the package '{error.name}': pip install 'fencepost[{entry.extra}]'"
        ) from error
