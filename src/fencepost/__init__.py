"""Distributed locks with a fencing token on every grant, and resources that refuse stale ones."""

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
from fencepost.primitives._async.connect import connect_async
from fencepost.primitives._async.lock import AsyncLock
from fencepost.primitives._async.rwlock import AsyncReadWriteLock
from fencepost.primitives._async.session import AsyncSession
from fencepost.primitives._sync.connect import connect
from fencepost.primitives._sync.lock import Lock
from fencepost.primitives._sync.rwlock import ReadWriteLock
from fencepost.primitives._sync.session import Session
from fencepost.session._async.grant import AsyncGrant
from fencepost.session._sync.grant import Grant
from fencepost.session.statistics import Statistics

__version__ = "0.1.0"

__all__ = [
    "AcquireTimeout",
    "AsyncGrant",
    "AsyncLock",
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
