# Written by hand; the blocking twin under _sync is generated from it.
"""Group membership: who is there, what they say of themselves, and every change of it."""

from collections.abc import AsyncIterator

from fencepost._runtime import aio as runtime
from fencepost.core.claim import Ask
from fencepost.core.name import MOST_DATA, check_text
from fencepost.core.roster import Member, entered, members
from fencepost.errors import FencepostError
from fencepost.primitives._async.acquirable import AsyncAcquirable, give_up
from fencepost.primitives._async.roster import AsyncRoster
from fencepost.session._async.grant import AsyncGrant
from fencepost.session._async.limit import AsyncLimit
from fencepost.session._async.persistence import persistently
from fencepost.session._async.presence import AsyncPresence
from fencepost.session._async.pursuit import Denial

DATA = "the data of a member"


class AsyncMembership:
    """Being a member. Lost with the lease, like every grant; `grant.token` is above those of all who came before."""

    def __init__(self, roster: AsyncRoster, grant: AsyncGrant, member: Member, clock: runtime.Clock) -> None:
        self.grant = grant
        self.id = member.id
        self._roster = roster
        self._member = member
        self._clock = clock
        self._over = runtime.Event()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} '{self.id}' {self.grant.standing}>"

    @property
    def held(self) -> bool:
        """Whether we are provably a member now."""
        return self.grant.held

    @property
    def lost(self) -> runtime.Event:
        return self.grant.lost

    @property
    def released(self) -> bool:
        return self.grant.released

    async def update(self, data: str) -> None:
        """Say something else of oneself, for all to see."""
        check_text(data, DATA, MOST_DATA)
        self.grant.check()
        self._member = self._member._replace(data=data)
        await self._roster.record.change(lambda document: entered(document, self._member))

    async def leave(self) -> None:
        """Be a member no longer. The others are told at once."""
        await self.release()

    async def release(self) -> None:
        self._over.set()
        if self.grant.held:
            await self._roster.leave(self.id)
        await self.grant.release()

    def interrupt_on_loss(self, interrupt: runtime.Interrupt) -> None:
        self.grant.interrupt_on_loss(interrupt)

    def forget_interrupt(self, interrupt: runtime.Interrupt) -> None:
        self.grant.forget_interrupt(interrupt)

    async def look_after_neighbours(self) -> None:
        while not await self._clock.wait(self._over, self._clock.now() + self._roster.period) and self.grant.held:
            try:
                await self._roster.look_after_neighbour(self.id)
            except FencepostError:
                # The keeper tells of trouble with the engine; if it lasts, we are not a member any more.
                pass


class AsyncGroup(AsyncAcquirable[AsyncMembership]):
    """As a block, it is a member inside: `async with session.group("workers", data="10.0.0.7") as membership`."""

    def __init__(self, presence: AsyncPresence, name: str, *, data: str = "") -> None:
        super().__init__(presence, (Ask(name),), None)
        self._roster = AsyncRoster(presence, "group", name)
        self._data = check_text(data, DATA, MOST_DATA)
        self._joined: dict[AsyncGrant, AsyncMembership] = {}

    @property
    def name(self) -> str:
        return self._asks[0].name

    def __repr__(self) -> str:
        return f"<{type(self).__name__} '{self.name}'>"

    async def join(self, data: str = "") -> AsyncMembership:
        """Become a member, and say `data` of oneself."""
        # By an object of its own: others who join with this one say something else.
        return await type(self)(self._presence, self.name, data=data).acquire()

    async def members(self) -> tuple[Member, ...]:
        """Who is there now, in order of arrival."""
        await self._roster.strike_off_the_dead()
        return members((await self._roster.record.read()).document)

    async def watch(self) -> AsyncIterator[tuple[Member, ...]]:
        """Who is there, now and after every change.

        Whoever dies is struck off by those who remain within a lease and a third; the last one by whoever watches.
        An engine that does not answer is asked again for as long as a lease lasts: only then the watch ends.
        """
        roster = self._roster
        seen = await roster.record.read()
        present = members(seen.document)
        yield present
        while True:
            version = seen.version
            seen = await roster.record.follow(version, roster.period)
            if seen.version == version and present:
                await persistently(self._presence, roster.look_after_first)
                continue
            now_present = members(seen.document)
            if now_present != present:
                present = now_present
                yield present

    async def _take(self, timeout: float | None, taken: list[AsyncGrant]) -> Denial | None:
        limits = self._presence.limits
        back_by = limits.back_by(self._presence.clock.now(), timeout)
        member = Member(self._roster.new_id(), self._presence.label, self._data)
        denial = await self._roster.appear(member.id, self._data, taken, timeout, back_by)
        if denial is not None:
            return denial
        try:
            # The other half is for giving it back. Whoever is in the record without a lock is struck off by others.
            async with AsyncLimit(self._presence.clock, back_by - limits.farewell / 2):
                await self._roster.record.change(lambda document: entered(document, member))
        except BaseException as error:
            await runtime.shielded(give_up(self._presence, taken, error, back_by))
            raise
        membership = AsyncMembership(self._roster, taken[0], member, self._presence.clock)
        self._joined[taken[0]] = membership
        runtime.spawn(membership.look_after_neighbours, name=f"fencepost-group-{self.name}")
        return None

    def _held(self, taken: list[AsyncGrant]) -> AsyncMembership:
        return self._joined.pop(taken[0])
