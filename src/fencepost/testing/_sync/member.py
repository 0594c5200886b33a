# Generated from src/fencepost/testing/_async/member.py by tools/unasync.py. Do not edit: run `make gen`.
"""A session in a virtual world, with the means to harm it."""

from fencepost.contract._sync.engine import Engine
from fencepost.core.holder import Holder
from fencepost.primitives._sync.session import Session
from fencepost.session._sync.grant import Grant
from fencepost.testing._sync.fault import FaultyEngine
from fencepost.testing._sync.lane import Lane

# The ways to name a session in its world.
Named = Session | Grant | Holder | str


class MemberEngine(FaultyEngine):
    """One session's way to the store of its world."""

    def __init__(self, engine: Engine, lane: Lane) -> None:
        super().__init__(engine, clock=lane)
        self.lane = lane
        self.holders: set[str] = set()

    def lease_open(self, holder: Holder, ttl: float) -> None:
        super().lease_open(holder, ttl)
        # From here on nothing can keep the session from starting its keeper, and no time may pass before it has.
        self.holders.add(holder.id)
        self.lane.missing += 1

    def lease_close(self, holder: Holder) -> None:
        # A keeper that is stopped before its first turn never comes.
        self.lane.missing = 0
        super().lease_close(holder)


class Member:
    def __init__(self, session: Session, engine: MemberEngine) -> None:
        self.session = session
        self.engine = engine

    def is_meant(self, holder: Named) -> bool:
        """Whether `holder` is this session, its label, or a lease or grant of its own."""
        if isinstance(holder, str):
            return holder == self.session.label
        if isinstance(holder, Session):
            return holder is self.session
        return (holder.holder if isinstance(holder, Grant) else holder).id in self.engine.holders
