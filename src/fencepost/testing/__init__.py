"""For tests of applications that use fencepost, and of engines: a virtual world, faults, servers, a model.

Everything is loaded when it is first asked for, so that the pytest plugin costs nothing where it is not used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fencepost._runtime.late import listing

if TYPE_CHECKING:
    from fencepost.testing._async.clock import AsyncVirtualClock
    from fencepost.testing._async.fault import AsyncFaultyEngine
    from fencepost.testing._async.world import AsyncWorld
    from fencepost.testing._sync.clock import VirtualClock
    from fencepost.testing._sync.fault import FaultyEngine
    from fencepost.testing._sync.world import World
    from fencepost.testing.binary import find_binary
    from fencepost.testing.machine import async_engine_machine, engine_machine, run_engine_machine
    from fencepost.testing.port import free_port
    from fencepost.testing.proxy import Proxy
    from fencepost.testing.server import ServerDown, ServerProcess, listening, logged
    from fencepost.testing.simulation import LawBroken, simulate

_HOMES = {
    "AsyncFaultyEngine": "_async.fault",
    "AsyncVirtualClock": "_async.clock",
    "AsyncWorld": "_async.world",
    "FaultyEngine": "_sync.fault",
    "LawBroken": "simulation",
    "Proxy": "proxy",
    "ServerDown": "server",
    "ServerProcess": "server",
    "VirtualClock": "_sync.clock",
    "World": "_sync.world",
    "async_engine_machine": "machine",
    "engine_machine": "machine",
    "find_binary": "binary",
    "free_port": "port",
    "listening": "server",
    "logged": "server",
    "run_engine_machine": "machine",
    "simulate": "simulation",
}

__all__ = [
    "AsyncFaultyEngine",
    "AsyncVirtualClock",
    "AsyncWorld",
    "FaultyEngine",
    "LawBroken",
    "Proxy",
    "ServerDown",
    "ServerProcess",
    "VirtualClock",
    "World",
    "async_engine_machine",
    "engine_machine",
    "find_binary",
    "free_port",
    "listening",
    "logged",
    "run_engine_machine",
    "simulate",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


__dir__ = listing(__name__)
