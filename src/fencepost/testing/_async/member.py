# Written by hand; the blocking twin under _sync is generated from it.
"""A session in a virtual world, with the means to harm it."""

from fencepost.contract._async.engine import AsyncEngine
from fencepost.core.holder import Holder
from fencepost.primitives._async.session import AsyncSession
from fencepost.session._async.grant import AsyncGrant
from fencepost.testing._async.fault import AsyncFaultyEngine
from fencepost.testing._async.lane import AsyncLane

# The ways to name a session in its world.
AsyncNamed = AsyncSession | AsyncGrant | Holder | str


class AsyncMemberEngine(AsyncFaultyEngine):
    """One session's way to the store of its world."""

    def __init__(self, engine: AsyncEngine, lane: AsyncLane) -> None:
        super().__init__(engine, clock=lane)
        self.lane = lane
        self.holders: set[str] = set()

    async def lease_open(self, holder: Holder, ttl: float) -> None:
        await super().lease_open(holder, ttl)
        # From here on nothing can keep the session from starting its keeper, and no time may pass before it has.
        self.holders.add(holder.id)
        self.lane.missing += 1

    async def lease_close(self, holder: Holder) -> None:
        # A keeper that is stopped before its first turn never comes.
        self.lane.missing = 0
        await super().lease_close(holder)


class AsyncMember:
    def __init__(self, session: AsyncSession, engine: AsyncMemberEngine) -> None:
        self.session = session
        self.engine = engine

    def is_meant(self, holder: AsyncNamed) -> bool:
        """Whether `holder` is this session, its label, or a lease or grant of its own."""
        if isinstance(holder, str):
            return holder == self.session.label
        if isinstance(holder, AsyncSession):
            return holder is self.session
        return (holder.holder if isinstance(holder, AsyncGrant) else holder).id in self.engine.holders
