# Written by hand; the blocking twin under _sync is generated from it.
"""Where results are kept if nobody says where."""

from fencepost.contract._async.engine import AsyncEngine
from fencepost.fences.result._async.file import AsyncFileResults
from fencepost.fences.result._async.memory import AsyncMemoryResults
from fencepost.fences.result._async.store import AsyncResults
from fencepost.fences.result.shelf import shelf_of


def default_results(engine: AsyncEngine) -> AsyncResults:
    """Shared by exactly those who share the engine's locks; `ValueError` where only the user can know such a place."""
    locality: str | None = getattr(engine, "locality", None)
    if locality is not None and engine.traits.scope == "process":
        return AsyncMemoryResults(shelf_of(locality))
    if locality is not None and engine.traits.scope == "host":
        return AsyncFileResults(f"{locality}-once")
    raise ValueError("say where results are kept: store=… from fencepost.fences.result, shared by all that ask")
