"""Distributed locks with a fencing token on every grant, and resources that refuse stale ones."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fencepost.core.holder import Holder
from fencepost.core.lease import Standing
from fencepost.core.traits import Traits
from fencepost.errors import (
    AcquireTimeout,
    Conflict,
    EngineError,
    FencepostError,
    FencepostWarning,
    Lost,
    NotHeld,
    Refused,
    SessionClosed,
    Stale,
    Unavailable,
    Uncertain,
    Unsupported,
)
from fencepost.primitives._sync.connect import connect
from fencepost.primitives._sync.lock import Lock
from fencepost.primitives._sync.once import Once
from fencepost.primitives._sync.rwlock import ReadWriteLock
from fencepost.primitives._sync.session import Session
from fencepost.session._sync.grant import Grant
from fencepost.session.statistics import Statistics

if TYPE_CHECKING:
    from fencepost.primitives._async.connect import connect_async
    from fencepost.primitives._async.lock import AsyncLock
    from fencepost.primitives._async.once import AsyncOnce
    from fencepost.primitives._async.rwlock import AsyncReadWriteLock
    from fencepost.primitives._async.session import AsyncSession
    from fencepost.session._async.grant import AsyncGrant

# Loaded when first asked for: a blocking program, such as the command line, need not wait for asyncio.
_ASYNCHRONOUS = {
    "AsyncGrant": "fencepost.session._async.grant",
    "AsyncLock": "fencepost.primitives._async.lock",
    "AsyncOnce": "fencepost.primitives._async.once",
    "AsyncReadWriteLock": "fencepost.primitives._async.rwlock",
    "AsyncSession": "fencepost.primitives._async.session",
    "connect_async": "fencepost.primitives._async.connect",
}

__version__ = "0.1.0"

__all__ = [
    "AcquireTimeout",
    "AsyncGrant",
    "AsyncLock",
    "AsyncOnce",
    "AsyncReadWriteLock",
    "AsyncSession",
    "Conflict",
    "EngineError",
    "FencepostError",
    "FencepostWarning",
    "Grant",
    "Holder",
    "Lock",
    "Lost",
    "NotHeld",
    "Once",
    "ReadWriteLock",
    "Refused",
    "Session",
    "SessionClosed",
    "Stale",
    "Standing",
    "Statistics",
    "Traits",
    "Unavailable",
    "Uncertain",
    "Unsupported",
    "connect",
    "connect_async",
]


def __getattr__(name: str) -> Any:
    if name not in _ASYNCHRONOUS:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(_ASYNCHRONOUS[name]), name)
