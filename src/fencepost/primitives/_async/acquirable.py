# Written by hand; the blocking twin under _sync is generated from it.
"""What can be acquired: by waiting for it, by trying once, or as a block that ends when it is lost."""

from types import TracebackType
from typing import Final, Generic, Protocol, TypeVar

from fencepost._runtime import aio as runtime
from fencepost.core.claim import Ask
from fencepost.core.duration import check_timeout
from fencepost.errors import AcquireTimeout, FencepostError
from fencepost.session._async.grant import AsyncGrant
from fencepost.session._async.presence import AsyncPresence
from fencepost.session._async.pursuit import Denial
from fencepost.session._async.surrender import let_go
from fencepost.session.refusal import refusal


class _Default:
    def __repr__(self) -> str:
        return "as given to the lock"


DEFAULT: Final = _Default()


class AsyncHeld(Protocol):
    """A grant, or several that stand and fall together."""

    @property
    def released(self) -> bool: ...
    async def release(self) -> None: ...
    def interrupt_on_loss(self, interrupt: runtime.Interrupt) -> None: ...
    def forget_interrupt(self, interrupt: runtime.Interrupt) -> None: ...


H = TypeVar("H", bound=AsyncHeld)


class AsyncAcquirable(Generic[H]):
    """Making it sends nothing. It may be shared between threads and tasks; each acquisition is an owner of its own."""

    def __init__(
        self, presence: AsyncPresence, asks: tuple[Ask, ...], timeout: float | None, priority: int = 0
    ) -> None:
        self._presence = presence
        self._asks = asks
        self._timeout = check_timeout(timeout)
        self._priority = priority
        self._blocks: dict[object, list[AsyncBlock[H]]] = {}

    async def acquire(self, *, timeout: float | _Default | None = DEFAULT) -> H:
        """Wait for the grant. `AcquireTimeout` means that nothing is held and nobody queued.

        `timeout=None` waits for ever, 0 tries once.
        """
        seconds = self._timeout if isinstance(timeout, _Default) else check_timeout(timeout)
        taken: list[AsyncGrant] = []
        try:
            denial = await self._take(seconds, taken)
            if denial is not None:
                raise self._timed_out(denial)
            return self._held(taken)
        except BaseException:
            await runtime.shielded(give_back(taken))
            raise

    async def try_acquire(self) -> H | None:
        """The grant if it is free now, else None."""
        taken: list[AsyncGrant] = []
        try:
            denial = await self._take(0.0, taken)
            return self._held(taken) if denial is None else None
        except BaseException:
            await runtime.shielded(give_back(taken))
            raise

    async def __aenter__(self) -> H:
        taken: list[AsyncGrant] = []
        block: AsyncBlock[H] | None = None
        try:
            denial = await self._take(self._timeout, taken)
            if denial is not None:
                raise self._timed_out(denial)
            block = AsyncBlock(self._held(taken))
            self._blocks.setdefault(runtime.current_flow(), []).append(block)
            block.arm()
            return block.held
        except BaseException:
            self._leave(block)
            await runtime.shielded(give_back(taken))
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        block = self._blocks[runtime.current_flow()][-1]
        try:
            await block.end(error)
        except BaseException:
            await runtime.shielded(give_back([block.held]))
            raise
        finally:
            self._leave(block)

    async def _take(self, timeout: float | None, taken: list[AsyncGrant]) -> Denial | None:
        """Put the grants into `taken`, or tell who was in the way when the time was over."""
        raise NotImplementedError

    def _held(self, taken: list[AsyncGrant]) -> H:
        """What the caller gets to hold."""
        raise NotImplementedError

    def _timed_out(self, denial: Denial) -> AcquireTimeout:
        return AcquireTimeout(refusal(self._asks, denial.waited, denial.ahead))

    def _leave(self, block: "AsyncBlock[H] | None") -> None:
        """Forget the block, if it is the innermost of this flow."""
        if block is None:
            return
        flow = runtime.current_flow()
        blocks = self._blocks.get(flow)
        if blocks and blocks[-1] is block:
            blocks.pop()
            if not blocks:
                del self._blocks[flow]


class AsyncBlock(Generic[H]):
    """The body of a `with`, which the loss of what it holds ends."""

    __slots__ = ("_interrupt", "held")

    def __init__(self, held: H) -> None:
        self.held = held
        self._interrupt = runtime.Interrupt()

    def arm(self) -> None:
        self.held.interrupt_on_loss(self._interrupt)

    async def end(self, error: BaseException | None) -> None:
        """Give it back. Raises what became of it, unless the body raised something of its own."""
        self.held.forget_interrupt(self._interrupt)
        if await self._interrupt.finish(error):
            error = None
        if self.held.released:
            return
        try:
            await self.held.release()
        except FencepostError:
            if error is None:
                raise


async def give_up(presence: AsyncPresence, taken: list[AsyncGrant], error: BaseException | None, by: float) -> None:
    """What was taken is not to be had after all, because of `error` or because others were first: be back by then.

    As with a release: who was interrupted is in a hurry.
    """
    limits = presence.limits
    hurry = error is not None and not isinstance(error, Exception)
    until = min(presence.clock.now() + (limits.farewell if hurry else limits.call), by)
    for grant in reversed(taken):
        await let_go(grant, until)


async def give_back(held: "list[AsyncGrant] | list[H]") -> None:
    """After an interruption: what was not given back yet, quietly."""
    for each in held:
        if not each.released:
            try:
                await each.release()
            except FencepostError:
                # It was lost, or will be settled: either way it is not ours, and the interruption goes on.
                pass
