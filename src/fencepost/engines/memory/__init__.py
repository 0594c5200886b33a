"""memory://name: locks between the threads and tasks of one process; the reference to read first."""

from fencepost.engines.memory._async.engine import AsyncMemoryEngine as AsyncEngine
from fencepost.engines.memory._sync.engine import MemoryEngine as Engine

__all__ = ["AsyncEngine", "Engine"]
