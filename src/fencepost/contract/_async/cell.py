# Written by hand; the blocking twin under _sync is generated from it.
"""What an engine with the trait `cells` can do beside locking: keep small values that change one step at a time."""

from typing import Protocol

from fencepost.contract._async.engine import AsyncEngine
from fencepost.contract.answer import Cell
from fencepost.core.rate import Rate


class AsyncCells(Protocol):
    """As with claims: one attempt per call, a return is definite, an exception means that the outcome is unknown.

    Cells have keys of their own, apart from the names that are locked. They belong to no holder and outlive all.
    """

    async def read(self, key: str) -> Cell:
        """What it holds; an empty one has no value, and version 0."""

    async def write(self, key: str, value: str | None, version: int) -> Cell | None:
        """Put `value` there, or empty it with None, if its version is still `version`; None if it is another."""

    async def watch(self, key: str, version: int, timeout: float) -> Cell:
        """Wait until its version is not `version` any more, woken by push; or what it holds after `timeout` seconds."""


class AsyncCellEngine(AsyncEngine, Protocol):
    @property
    def cells(self) -> AsyncCells:
        """One object for as long as the engine is there."""


class AsyncMeterEngine(AsyncEngine, Protocol):
    """What an engine with the trait `meters` can do: it has a clock, and counts by it."""

    async def meter(self, key: str, rate: Rate, weight: int) -> float:
        """Count `weight` against the rate, and return 0.0; or count nothing, and return how many seconds to wait."""
