"""What an engine guarantees, as values that can be compared, required and tested."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from fencepost.core.shown import shown

# From weakest to strongest. A stronger level gives all that a weaker one does.
LEVELS: dict[str, tuple[str, ...]] = {
    "scope": ("process", "host", "network"),
    "fencing": ("clock", "strict"),
    "survives": ("nothing", "restart", "minority"),
    "order": ("any", "arrival"),
    "death": ("lease", "close", "at once"),
}
MEANING = {
    "scope": "who can share a lock",
    "fencing": "whether tokens grow always, or only while the engine's clock does not go back too far",
    "survives": "what the engine's memory of tokens outlives",
    "order": "in which order waiters are served",
    "death": "when the lock of a killed holder is free: at the end of its lease, or at once",
    "shared": "read locks",
    "downgrade": "from a write lock to a read lock without a gap",
    "counted": "semaphores",
    "together": "several names granted in one atomic step",
    "cells": "small shared values that change one step at a time: elections, groups, barriers, jobs",
    "priority": "waiters that go before others, instead of in order of arrival",
    "meters": "rate limits, by a clock that all share",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """The guarantees of one engine. The contract suite tests that each holds, and that each lack is real."""

    scope: Literal["process", "host", "network"]
    fencing: Literal["clock", "strict"]
    survives: Literal["nothing", "restart", "minority"]
    order: Literal["any", "arrival"]
    death: Literal["lease", "close", "at once"]
    shared: bool = True
    counted: bool = True
    together: bool = True
    downgrade: bool = True
    priority: bool = False
    cells: bool = False
    meters: bool = False
    ttl_floor: float = 0.0
    # How many times its ttl a lease may outlive its holder.
    overrun: float = 1.0
    # Other clients of the engine whose locks on the same key exclude ours, and ours theirs.
    neighbours: tuple[str, ...] = ()

    def shortfalls(self, requires: Mapping[str, Any]) -> list[str]:
        """One line for each requirement that is not met; unknown requirements raise."""
        if not isinstance(requires, Mapping):
            raise TypeError(f"requires is a mapping of traits to levels, not {type(requires).__name__}")
        return [line for trait, wanted in requires.items() if (line := self._shortfall(trait, wanted))]

    def _shortfall(self, trait: str, wanted: Any) -> str | None:
        known = [field.name for field in fields(self)]
        if trait not in known:
            raise ValueError(f"unknown trait {shown(trait)} in requires: choose from {', '.join(known)}")
        given = getattr(self, trait)
        levels = LEVELS.get(trait)
        if levels is not None:
            if wanted not in levels:
                raise ValueError(f"unknown level {shown(wanted)} of trait '{trait}': choose from {', '.join(levels)}")
            met = levels.index(given) >= levels.index(wanted)
        elif isinstance(given, bool):
            if not isinstance(wanted, bool):
                raise ValueError(f"trait '{trait}' is True or False, got {shown(wanted)}")
            met = given or not wanted
        elif isinstance(given, tuple):
            if isinstance(wanted, str) or not isinstance(wanted, Iterable):
                raise ValueError(f"trait '{trait}' in requires is a list of texts, not {shown(wanted)}")
            wanted = list(wanted)
            met = all(each in given for each in wanted)
        else:
            if isinstance(wanted, bool) or not isinstance(wanted, int | float):
                raise ValueError(f"trait '{trait}' in requires is a number, not {shown(wanted)}")
            met = given <= wanted
        return None if met else f"{trait} {shown(wanted)} is required and {shown(given)} is given"
