# Written by hand; the blocking twin under _sync is generated from it.
"""A small world with a clock of its own, in which sessions lose their locks when the test says so."""

import math
import random
import uuid
from types import TracebackType
from typing import Self

from fencepost._runtime import aio as runtime
from fencepost._runtime.clock import boottime
from fencepost.contract import registry
from fencepost.contract.answer import Snapshot
from fencepost.core.deadline import Deadline
from fencepost.core.lease import Terms
from fencepost.core.name import check_name, check_text
from fencepost.core.permit import check_count
from fencepost.core.url import parse_url
from fencepost.instrumentation import log
from fencepost.primitives._async.session import AsyncSession
from fencepost.testing._async.clock import LOOK_AGAIN, AsyncVirtualClock
from fencepost.testing._async.member import AsyncMember, AsyncMemberEngine, AsyncNamed

# Of engines, which is never used up here: what is in memory answers at once.
PATIENCE = 5.0
REAL_PATIENCE = 10.0


class AsyncWorld:
    """Sessions on a private store in memory, in virtual time.

    Nothing sleeps: a lease of ten seconds expires in a millisecond. What happens to a session is what would happen
    to it in production: it renews, is cut off, is paused, learns of its loss by its own deadline.
    A holder is named by its session, a grant, a `Holder` or its label.
    """

    def __init__(self, *, seed: int = 0) -> None:
        self.clock = AsyncVirtualClock()
        self._url = parse_url(f"memory://{uuid.uuid4().hex}")
        self._kind = registry.async_engine(self._url.scheme)
        self._eye = self._kind(self._url, clock=self.clock, patience=PATIENCE)
        self._dice = random.Random(seed).random
        self._members: list[AsyncMember] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def connect(self, *, ttl: float = 10.0, margin: float = 0.0, holder: str | None = None) -> AsyncSession:
        """A session in this world, to be entered and used like any other; as if each ran in a process of its own."""
        if self.clock.home is None:
            self.clock.home = runtime.current_flow()
        terms = Terms(ttl, margin)
        if holder is not None:
            check_text(holder, "the label of a holder")
        lane = self.clock.lane()
        engine = AsyncMemberEngine(self._kind(self._url, clock=lane, patience=PATIENCE), lane)
        label = holder or f"session-{len(self._members) + 1}"
        session = AsyncSession(engine, terms, label=label, clock=lane, dice=self._dice)
        session.subscribe(log.write, *log.LOUD)
        self._members.append(AsyncMember(session, engine))
        return session

    async def advance(self, seconds: float) -> None:
        """Let that much time pass: leases are renewed or end, time-outs come, in order. It takes no real time."""
        await self.clock.advance(seconds)

    async def look(self, name: str) -> Snapshot:
        """Who holds the name and who waits for it, also while everyone is cut off."""
        return await self._eye.look(check_name(name))

    async def until_waiting(self, name: str, count: int = 1) -> None:
        """Return as soon as that many wait for the name, at most 10 real seconds. No virtual time passes."""
        check_count(count, "number of those who wait")
        deadline = Deadline.after(boottime(), REAL_PATIENCE)
        while len((await self.look(name)).waiters) < count:
            if deadline.passed(boottime()):
                raise TimeoutError(f"{count} did not come to wait for '{name}' in {REAL_PATIENCE:g} real seconds")
            await runtime.sleep(LOOK_AGAIN)

    async def expire(self, name: str) -> None:
        """End the lease of whoever holds `name`, as a long enough failure of its renewals would.

        Their renewals are refused, and time passes until the engine frees the name; their own deadline tells them
        before that. All that they hold on the same lease goes too. Other sessions renew as usual and lose nothing,
        but time does pass for them. Afterwards the losers can go on, on a new lease.
        """
        claims = [standing.claim for standing in (await self.look(name)).holders]
        if not claims:
            raise LookupError(f"nobody holds '{name}'")
        tokens = {claim.token for claim in claims}
        engines = self._engines(*(claim.holder for claim in claims))
        for engine in engines:
            engine.refuse("lease_renew", math.inf)
        try:
            while left := [each.remaining for each in (await self.look(name)).holders if each.claim.token in tokens]:
                await self.advance(max(*left, 0.001))
        finally:
            for engine in engines:
                engine.refuse("lease_renew", 0)

    async def pause(self, holder: AsyncNamed) -> None:
        """Stop a session as SIGSTOP would: its keeper does not run and its calls get nowhere, while time goes on."""
        await self.clock.settle()
        for member in self._meant(holder):
            member.engine.lane.started.clear()

    async def resume(self, holder: AsyncNamed) -> None:
        """Let a paused session go on; it finds out at once what it missed."""
        for member in self._meant(holder):
            await self.clock.start(member.engine.lane)

    def cut(self, *holders: AsyncNamed) -> None:
        """The engine answers these sessions no more, or nobody if none is named: their calls raise `Unavailable`."""
        for engine in self._engines(*holders):
            engine.cut()

    def heal(self, *holders: AsyncNamed) -> None:
        """End `cut` and every fault of `faults`, for these sessions or for all."""
        for engine in self._engines(*holders):
            engine.heal()

    def faults(self, holder: AsyncNamed) -> AsyncMemberEngine:
        """This session's engine, with finer faults: `lose_reply`, `refuse`, `delay`, `hang`, and the log `calls`."""
        return self._meant(holder)[0].engine

    async def close(self) -> None:
        """Heal everything and close every session."""
        self.heal()
        for member in self._members:
            await self.clock.start(member.engine.lane)
        for member in self._members:
            await member.session.close()

    def _engines(self, *holders: AsyncNamed) -> list[AsyncMemberEngine]:
        members = [each for holder in holders for each in self._meant(holder)] if holders else self._members
        return [member.engine for member in members]

    def _meant(self, holder: AsyncNamed) -> list[AsyncMember]:
        members = [member for member in self._members if member.is_meant(holder)]
        if not members:
            labels = ", ".join(f"'{member.session.label}'" for member in self._members) or "nobody"
            raise LookupError(f"{holder!r} is not in this world, which has {labels}")
        return members
