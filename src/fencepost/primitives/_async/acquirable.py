# Written by hand; the blocking twin under _sync is generated from it.
"""What can be acquired: by waiting for it, by trying once, or as a block that ends when it is lost."""

import sys
from types import FrameType, TracebackType
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
        # By the code that the `with` stands in: it is the same at both ends of the block, also where a generator is
        # closed by another thread or task than the one that began it.
        self._blocks: dict[FrameType, list[AsyncBlock[H]]] = {}

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
        frame = sys._getframe(1)
        taken: list[AsyncGrant] = []
        held: H | None = None
        block: AsyncBlock[H] | None = None
        try:
            denial = await self._take(self._timeout, taken)
            if denial is not None:
                raise self._timed_out(denial)
            held = self._held(taken)
            block = AsyncBlock(held)
            self._blocks.setdefault(frame, []).append(block)
            block.arm()
            return held
        except BaseException:
            # It may have begun to take more than that.
            await runtime.shielded(give_back(taken if held is None else [held]))
            self._forget(frame, block)
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # No call here: an interruption before the `try` would leave it held.
        frame: FrameType | None = None
        block: AsyncBlock[H] | None = None
        try:
            frame = sys._getframe(1)
            block = self._blocks[frame][-1] if frame in self._blocks else None
            if block is None or block.over:
                frame, block = self._left(frame)
            await block.end(error)
        except BaseException:
            if block is None or block.over:
                frame, block = self._left(sys._getframe(1))
            if not block.is_given_back:
                await runtime.shielded(give_back([block.held]))
            raise
        finally:
            if block is not None:
                block.over = True
            self._forget(frame, block)

    async def _take(self, timeout: float | None, taken: list[AsyncGrant]) -> Denial | None:
        """Put the grants into `taken`, or tell who was in the way when the time was over."""
        raise NotImplementedError

    def _held(self, taken: list[AsyncGrant]) -> H:
        """What the caller gets to hold."""
        raise NotImplementedError

    def _timed_out(self, denial: Denial) -> AcquireTimeout:
        return AcquireTimeout(refusal(self._asks, denial.waited, denial.ahead))

    def _left(self, frame: FrameType) -> "tuple[FrameType, AsyncBlock[H]]":
        """The block that is left now, by that code, and the frame it was entered in."""
        block = self._last_open(frame)
        return self._block_elsewhere() if block is None else (frame, block)

    def _last_open(self, frame: FrameType) -> "AsyncBlock[H] | None":
        """Whoever was interrupted as it forgot an inner block has left that behind."""
        for block in reversed(list(self._blocks.get(frame, ()))):
            if not block.over:
                return block
            self._forget(frame, block)
        return None

    def _block_elsewhere(self) -> "tuple[FrameType, AsyncBlock[H]]":
        """The same where that is another frame: in an ExitStack, say."""
        entered = [(frame, block) for frame, blocks in list(self._blocks.items()) for block in blocks if not block.over]
        flow = runtime.current_flow()
        here = [(frame, block) for frame, block in entered if block.flow is flow]
        if here:
            return here[-1]
        if len(entered) == 1:
            return entered[0]
        raise RuntimeError(
            f"{self!r} is left in a thread or task that did not enter it, and {len(entered)} blocks of it are open: "
            "nothing was released; give each block an object of its own"
        )

    def _forget(self, frame: FrameType | None, block: "AsyncBlock[H] | None") -> None:
        blocks = None if frame is None else self._blocks.get(frame)
        if frame is not None and block is not None and blocks and block in blocks:
            blocks.remove(block)
            if not blocks:
                del self._blocks[frame]


class AsyncBlock(Generic[H]):
    """The body of a `with`, which the loss of what it holds ends."""

    __slots__ = ("_depth", "_interrupt", "flow", "held", "over")

    def __init__(self, held: H) -> None:
        self.held = held
        # How deep in blocks of the same grant this one is.
        self._depth = held._depth if isinstance(held, AsyncGrant) else 1
        # Whether it was left.
        self.over = False
        self.flow = runtime.current_flow()
        self._interrupt = runtime.Interrupt()

    def arm(self) -> None:
        self.held.interrupt_on_loss(self._interrupt)

    @property
    def is_given_back(self) -> bool:
        """Whether this block has given its own part back, of a grant that the blocks around it hold still."""
        return isinstance(self.held, AsyncGrant) and 0 < self.held._depth < self._depth

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
