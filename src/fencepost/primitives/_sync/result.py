# Generated from src/fencepost/primitives/_async/result.py by tools/unasync.py. Do not edit: run `make gen`.
"""Where results are kept if nobody says where."""

from fencepost.contract._sync.engine import Engine
from fencepost.fences.result._sync.file import FileResults
from fencepost.fences.result._sync.memory import MemoryResults
from fencepost.fences.result._sync.store import Results
from fencepost.fences.result.shelf import shelf_of


def default_results(engine: Engine) -> Results:
    """Shared by exactly those who share the engine's locks; `ValueError` where only the user can know such a place."""
    locality: str | None = getattr(engine, "locality", None)
    if locality is not None and engine.traits.scope == "process":
        return MemoryResults(shelf_of(locality))
    if locality is not None and engine.traits.scope == "host":
        return FileResults(f"{locality}-once")
    raise ValueError("say where results are kept: store=… from fencepost.fences.result, shared by all that ask")
