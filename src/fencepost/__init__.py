"""Distributed locks with a fencing token on every grant, and resources that refuse stale ones."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fencepost._runtime.late import listing
from fencepost.core.election import Leader
from fencepost.core.holder import Holder
from fencepost.core.job import Outcome
from fencepost.core.lease import Standing
from fencepost.core.roster import Member
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
from fencepost.primitives._sync.barrier import Barrier
from fencepost.primitives._sync.connect import connect
from fencepost.primitives._sync.election import Election
from fencepost.primitives._sync.grants import Grants
from fencepost.primitives._sync.group import Group, Membership
from fencepost.primitives._sync.job import Job, Run
from fencepost.primitives._sync.latch import Latch
from fencepost.primitives._sync.lock import Lock
from fencepost.primitives._sync.lock_all import LockAll
from fencepost.primitives._sync.once import Once
from fencepost.primitives._sync.ownership import Ownership
from fencepost.primitives._sync.partitions import Partitions
from fencepost.primitives._sync.rate_limit import RateLimit
from fencepost.primitives._sync.rwlock import ReadWriteLock
from fencepost.primitives._sync.session import Session
from fencepost.session._sync.grant import Grant
from fencepost.session.statistics import Statistics

if TYPE_CHECKING:
    from fencepost.primitives._async.barrier import AsyncBarrier
    from fencepost.primitives._async.connect import connect_async
    from fencepost.primitives._async.election import AsyncElection
    from fencepost.primitives._async.grants import AsyncGrants
    from fencepost.primitives._async.group import AsyncGroup, AsyncMembership
    from fencepost.primitives._async.job import AsyncJob, AsyncRun
    from fencepost.primitives._async.latch import AsyncLatch
    from fencepost.primitives._async.lock import AsyncLock
    from fencepost.primitives._async.lock_all import AsyncLockAll
    from fencepost.primitives._async.once import AsyncOnce
    from fencepost.primitives._async.ownership import AsyncOwnership
    from fencepost.primitives._async.partitions import AsyncPartitions
    from fencepost.primitives._async.rate_limit import AsyncRateLimit
    from fencepost.primitives._async.rwlock import AsyncReadWriteLock
    from fencepost.primitives._async.session import AsyncSession
    from fencepost.session._async.grant import AsyncGrant

# Loaded when first asked for: a blocking program, such as the command line, need not wait for asyncio.
_ASYNCHRONOUS = {
    "AsyncGrant": "fencepost.session._async.grant",
    "AsyncLock": "fencepost.primitives._async.lock",
    "AsyncElection": "fencepost.primitives._async.election",
    "AsyncBarrier": "fencepost.primitives._async.barrier",
    "AsyncLatch": "fencepost.primitives._async.latch",
    "AsyncGroup": "fencepost.primitives._async.group",
    "AsyncMembership": "fencepost.primitives._async.group",
    "AsyncPartitions": "fencepost.primitives._async.partitions",
    "AsyncOwnership": "fencepost.primitives._async.ownership",
    "AsyncRateLimit": "fencepost.primitives._async.rate_limit",
    "AsyncJob": "fencepost.primitives._async.job",
    "AsyncRun": "fencepost.primitives._async.job",
    "AsyncLockAll": "fencepost.primitives._async.lock_all",
    "AsyncGrants": "fencepost.primitives._async.grants",
    "AsyncOnce": "fencepost.primitives._async.once",
    "AsyncReadWriteLock": "fencepost.primitives._async.rwlock",
    "AsyncSession": "fencepost.primitives._async.session",
    "connect_async": "fencepost.primitives._async.connect",
}

__version__ = "0.1.0"

__all__ = [
    "AcquireTimeout",
    "AsyncBarrier",
    "AsyncElection",
    "AsyncGrant",
    "AsyncGrants",
    "AsyncGroup",
    "AsyncJob",
    "AsyncLatch",
    "AsyncLock",
    "AsyncLockAll",
    "AsyncMembership",
    "AsyncOnce",
    "AsyncOwnership",
    "AsyncPartitions",
    "AsyncRateLimit",
    "AsyncReadWriteLock",
    "AsyncRun",
    "AsyncSession",
    "Barrier",
    "Conflict",
    "Election",
    "EngineError",
    "FencepostError",
    "FencepostWarning",
    "Grant",
    "Grants",
    "Group",
    "Holder",
    "Job",
    "Latch",
    "Leader",
    "Lock",
    "LockAll",
    "Lost",
    "Member",
    "Membership",
    "NotHeld",
    "Once",
    "Outcome",
    "Ownership",
    "Partitions",
    "RateLimit",
    "ReadWriteLock",
    "Refused",
    "Run",
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


__dir__ = listing(__name__)
