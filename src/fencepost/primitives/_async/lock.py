# Written by hand; the blocking twin under _sync is generated from it.
"""The lock."""

from types import TracebackType
from typing import Final

from fencepost._runtime import aio as runtime
from fencepost.core.claim import Ask
from fencepost.core.duration import check_timeout
from fencepost.errors import AcquireTimeout, FencepostError
from fencepost.session._async.grant import AsyncGrant
from fencepost.session._async.presence import AsyncPresence
from fencepost.session._async.pursuit import Denial, obtain
from fencepost.session.refusal import refusal


class _Default:
    def __repr__(self) -> str:
        return "as given to the lock"


DEFAULT: Final = _Default()


class AsyncLock:
    """One name, to be held by one at a time (or, shared, by many readers).

    Making it sends nothing. It may be shared between threads and tasks; each acquisition is a `Grant` of its own,
    and the grant is the owner. At any instant two processes may both *believe* to hold the lock for a moment
    (one of them was paused); `grant.token` and a fence at the resource are what protects against that.
    """

    def __init__(
        self, presence: AsyncPresence, ask: Ask, *, timeout: float | None = None, reentrant: bool = False
    ) -> None:
        self._presence = presence
        self._asks = (ask,)
        self._timeout = check_timeout(timeout)
        self._reentrant = reentrant
        self._blocks: dict[object, list[_AsyncBlock]] = {}

    @property
    def name(self) -> str:
        return self._asks[0].name

    def __repr__(self) -> str:
        return f"<{type(self).__name__} '{self.name}'>"

    async def acquire(self, *, timeout: float | _Default | None = DEFAULT) -> AsyncGrant:
        """Wait for the grant. `AcquireTimeout` means that nothing is held and nobody queued.

        `timeout=None` waits for ever, 0 tries once.
        """
        seconds = self._timeout if isinstance(timeout, _Default) else check_timeout(timeout)
        taken: list[AsyncGrant] = []
        try:
            denial = await self._take(seconds, taken)
            if denial is not None:
                raise self._timed_out(denial)
            return taken[0]
        except BaseException:
            await runtime.shielded(_give_back(taken))
            raise

    async def try_acquire(self) -> AsyncGrant | None:
        """The grant if it is free now, else None."""
        taken: list[AsyncGrant] = []
        try:
            denial = await self._take(0.0, taken)
            return taken[0] if denial is None else None
        except BaseException:
            await runtime.shielded(_give_back(taken))
            raise

    async def __aenter__(self) -> AsyncGrant:
        taken: list[AsyncGrant] = []
        try:
            denial = await self._take(self._timeout, taken)
            if denial is not None:
                raise self._timed_out(denial)
            block = _AsyncBlock(taken[0])
            self._blocks.setdefault(runtime.current_flow(), []).append(block)
            block.arm()
            return block.grant
        except BaseException:
            self._leave(taken)
            await runtime.shielded(_give_back(taken))
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        block = self._blocks[runtime.current_flow()][-1]
        try:
            await block.end(error)
        except BaseException:
            await runtime.shielded(_give_back([block.grant]))
            raise
        finally:
            self._leave([block.grant])

    def _timed_out(self, denial: Denial) -> AcquireTimeout:
        return AcquireTimeout(refusal(self._asks, denial.waited, denial.ahead))

    async def _take(self, timeout: float | None, taken: list[AsyncGrant]) -> Denial | None:
        if not self._reentrant:
            return await obtain(self._presence, self._asks, timeout, taken)
        flow = runtime.current_flow()
        held = self._presence.reentrance.held(self.name, flow)
        if held is not None:
            taken.append(held.reenter())
            return None
        denial = await obtain(self._presence, self._asks, timeout, taken)
        if denial is None:
            self._presence.reentrance.enter(taken[0], flow)
        return denial

    def _leave(self, grants: list[AsyncGrant]) -> None:
        """Forget the innermost block of this flow, if it is on one of these grants."""
        flow = runtime.current_flow()
        blocks = self._blocks.get(flow)
        if blocks and blocks[-1].grant in grants:
            blocks.pop()
            if not blocks:
                del self._blocks[flow]


class _AsyncBlock:
    """The body of a `with`, which the loss of its grant ends."""

    __slots__ = ("_interrupt", "grant")

    def __init__(self, grant: AsyncGrant) -> None:
        self.grant = grant
        self._interrupt = runtime.Interrupt()

    def arm(self) -> None:
        self.grant.interrupt_on_loss(self._interrupt)

    async def end(self, error: BaseException | None) -> None:
        """Give the grant back. Raises what became of it, unless the body raised something of its own."""
        self.grant.forget_interrupt(self._interrupt)
        if await self._interrupt.finish(error):
            error = None
        if self.grant.released:
            return
        try:
            await self.grant.release()
        except FencepostError:
            if error is None:
                raise


async def _give_back(grants: list[AsyncGrant]) -> None:
    """After an interruption: what was not given back yet, quietly."""
    for grant in grants:
        if not grant.released:
            try:
                await grant.release()
            except FencepostError:
                # It was lost, or will be settled: either way it is not ours, and the interruption goes on.
                pass
