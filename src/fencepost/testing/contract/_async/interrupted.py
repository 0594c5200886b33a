# Written by hand; the blocking twin under _sync is generated from it.
"""What a session does, to be interrupted in it; and what must hold afterwards, wherever that was."""

from typing import ClassVar

from fencepost.errors import AcquireTimeout, Lost
from fencepost.primitives._async.session import AsyncSession
from fencepost.session._async.grant import AsyncGrant
from fencepost.testing.contract._async.attempt import AsyncAttempt, until
from fencepost.testing.contract._async.place import LASTING, connect_to, there, until_waiting
from fencepost.testing.contract.interruption import aio as interruption
from fencepost.testing.contract.site import Site

NAME, BESIDE = "a", "b"
# For all that is looked at after one interruption: each part of it has a shorter bound of its own.
CHECKED_WITHIN = 100.0


class AsyncScene:
    """Two sessions, the first of which is interrupted, over and over.

    Whatever the second does is a bystander's: else its connections would be interrupted as well, for good.
    """

    def __init__(self, site: Site) -> None:
        self._site = site
        self.session = self.connect()
        self.second = connect_to(site, label="second")

    def connect(self) -> AsyncSession:
        return connect_to(self._site, label="first")

    async def close(self) -> None:
        await self.session.close()
        await self.second.close()


class AsyncAct:
    """Prepared, done, and brought to its end as whoever was interrupted would."""

    # Whether something else of the session waits for another name meanwhile, and may be who reads for all.
    accompanied: ClassVar[bool] = True

    def __init__(self, scene: AsyncScene) -> None:
        self.scene = scene
        self.grant: AsyncGrant | None = None

    @property
    def session(self) -> AsyncSession:
        return self.scene.session

    async def prepare(self) -> None: ...

    async def do(self) -> None: ...

    async def settle(self) -> None:
        if self.grant is not None and not self.grant.released:
            await self.grant.release()

    async def _check(self) -> None:
        """Nothing is held or queued, and either session gets the name, and is told what is so."""
        second = self.scene.second

        async def nothing_left() -> bool:
            return await there(second, NAME) == ([], [])

        await self.settle()
        with interruption.bystander():
            await until(nothing_left)
            async with second.lock(NAME, timeout=LASTING) as theirs:
                token = theirs.token
        async with self.session.lock(NAME, timeout=LASTING) as ours:
            assert ours.token > token
            (holder,) = (await self.session.look(NAME)).holders
            assert holder.claim.token == ours.token
        assert await there(self.session, BESIDE) == ([], [])

    async def run(self, interrupted: interruption.Interrupted) -> str | None:
        """Once, `interrupted`: where, if at all. Raises if anything is not as it must be then."""
        with interruption.bystander():
            held = await self.scene.second.lock(BESIDE).acquire()
            waiting = AsyncAttempt(lambda: self.session.lock(BESIDE).acquire()) if self.accompanied else None
            if waiting is not None:
                await until_waiting(self.scene.second, BESIDE, 1)
            await self.prepare()
        where = await interrupted(self.do)

        async def check() -> None:
            with interruption.bystander():
                await held.release()
            if waiting is not None:
                await (await waiting.outcome()).release()
            await self._check()

        try:
            # Beside: whoever is stuck would be stuck here, too.
            await AsyncAttempt(check).outcome(CHECKED_WITHIN)
        except BaseException as error:
            error.add_note(f"after {where}")
            raise
        return where


class AsyncAcquire(AsyncAct):
    async def do(self) -> None:
        self.grant = await self.session.lock(NAME).acquire()


class AsyncTry(AsyncAct):
    async def do(self) -> None:
        self.grant = await self.session.lock(NAME).try_acquire()


class AsyncBlock(AsyncAct):
    async def do(self) -> None:
        async with self.session.lock(NAME):
            pass


class AsyncRelease(AsyncAct):
    async def prepare(self) -> None:
        self.grant = await self.session.lock(NAME).acquire()

    async def do(self) -> None:
        assert self.grant is not None
        await self.grant.release()


class AsyncHandOver(AsyncRelease):
    """A release that somebody waits for."""

    async def prepare(self) -> None:
        await super().prepare()
        self._waiting = AsyncAttempt(lambda: self.scene.second.lock(NAME).acquire())
        await until_waiting(self.scene.second, NAME, 1)

    async def settle(self) -> None:
        await super().settle()
        with interruption.bystander():
            await (await self._waiting.outcome()).release()


class AsyncWait(AsyncAct):
    """Until the holder lets go."""

    async def prepare(self) -> None:
        self._held = await self.scene.second.lock(NAME).acquire()
        self._over = False
        self._letting_go = AsyncAttempt(self._let_go)

    async def _let_go(self) -> None:
        async def enough() -> bool:
            return self._over or len((await there(self.scene.second, NAME))[1]) == 1

        await until(enough)
        try:
            await self._beside()
        finally:
            await self._held.release()

    async def _beside(self) -> None:
        """What happens to others of the session meanwhile."""

    async def do(self) -> None:
        self.grant = await self.session.lock(NAME).acquire()

    async def settle(self) -> None:
        self._over = True
        await self._letting_go.outcome()
        await super().settle()


class AsyncWaitAndRead(AsyncWait):
    """Until the holder lets go, and before that another of the session is granted what it waits for."""

    accompanied = False

    async def prepare(self) -> None:
        self._also = await self.scene.second.lock("c").acquire()
        await super().prepare()

    async def _beside(self) -> None:
        waiting = AsyncAttempt(lambda: self.session.lock("c").acquire())
        await until_waiting(self.scene.second, "c", 1)
        await self._also.release()
        await (await waiting.outcome()).release()


class AsyncWaitInVain(AsyncAct):
    async def prepare(self) -> None:
        self._held = await self.scene.second.lock(NAME).acquire()

    async def do(self) -> None:
        try:
            await self.session.lock(NAME).acquire(timeout=0.01)
        except AcquireTimeout as refused:
            # Who is in the way is asked last, and not where an answer was lost before that.
            lost = interruption.LOSES_ANSWERS and "it was held" in str(refused)
            if not lost and "held by second" not in str(refused):
                raise

    async def settle(self) -> None:
        with interruption.bystander():
            await self._held.release()


class AsyncTryInVain(AsyncWaitInVain):
    async def do(self) -> None:
        assert await self.session.lock(NAME).try_acquire() is None


class AsyncLook(AsyncWaitInVain):
    async def do(self) -> None:
        (holder,) = (await self.session.look(NAME)).holders
        assert holder.claim.token == self._held.token


class AsyncRenew(AsyncRelease):
    """By who asks, where a keeper does it elsewhere."""

    async def do(self) -> None:
        assert self.grant is not None
        keeper = await self.session.keeper()
        renewal = await self.session.engine.lease_renew(keeper.holder, keeper.terms.ttl, [self.grant.claim])
        assert renewal.alive
        assert not renewal.gone

    async def settle(self) -> None:
        try:
            await super().settle()
        except Lost:
            # An engine whose locks live with a connection may have to end that, and then the holder was told.
            assert self.grant is not None
            assert self.grant.lost.is_set()


class AsyncOpen(AsyncAcquire):
    """The lease, and with it whatever connections there are."""

    accompanied = False

    async def prepare(self) -> None:
        await self.session.close()
        self.scene.session = self.scene.connect()


class AsyncClose(AsyncHandOver):
    accompanied = False

    async def do(self) -> None:
        await self.session.close()

    async def settle(self) -> None:
        await self.session.close()
        with interruption.bystander():
            if interruption.LOSES_ANSWERS and (await there(self.scene.second, NAME))[0] == ["first"]:
                # A close without an answer leaves the lease to its end, which is not waited for here.
                await self.scene.second.evict(NAME)
            await (await self._waiting.outcome()).release()
        self.scene.session = self.scene.connect()


ACTS: dict[str, type[AsyncAct]] = {
    "acquire": AsyncAcquire,
    "try_acquire": AsyncTry,
    "block": AsyncBlock,
    "release": AsyncRelease,
    "hand over": AsyncHandOver,
    "wait": AsyncWait,
    "wait and read": AsyncWaitAndRead,
    "wait in vain": AsyncWaitInVain,
    "try in vain": AsyncTryInVain,
    "look": AsyncLook,
    "renew": AsyncRenew,
    "open": AsyncOpen,
    "close": AsyncClose,
}
