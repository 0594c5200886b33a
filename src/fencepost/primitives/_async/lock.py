# Written by hand; the blocking twin under _sync is generated from it.
"""The lock."""

from types import TracebackType
from typing import Final

from fencepost._runtime import aio as runtime
from fencepost.contract.answer import Busy
from fencepost.core.claim import Ask
from fencepost.core.duration import check_timeout
from fencepost.errors import AcquireTimeout, FencepostError
from fencepost.session._async.grant import AsyncGrant
from fencepost.session._async.presence import AsyncPresence
from fencepost.session._async.pursuit import obtain
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
        self._blocks: dict[object, list[tuple[AsyncGrant, runtime.Interrupt]]] = {}

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
        started_at = self._presence.clock.now()
        answer = await self._obtain(seconds)
        if isinstance(answer, Busy):
            waited = self._presence.clock.now() - started_at
            raise AcquireTimeout(refusal(self._asks, waited, answer.ahead))
        return answer

    async def try_acquire(self) -> AsyncGrant | None:
        """The grant if it is free now, else None."""
        answer = await self._obtain(0.0)
        return None if isinstance(answer, Busy) else answer

    async def _obtain(self, timeout: float | None) -> AsyncGrant | Busy:
        if self._reentrant:
            held = self._presence.reentrant.held(self.name, runtime.current_flow())
            if held is not None:
                held.reenter()
                return held
        answer = await obtain(self._presence, self._asks, timeout)
        if isinstance(answer, Busy):
            return answer
        if self._reentrant:
            self._presence.reentrant.enter(answer[0], runtime.current_flow())
        return answer[0]

    async def __aenter__(self) -> AsyncGrant:
        grant = await self.acquire()
        interrupt = runtime.Interrupt()
        self._blocks.setdefault(runtime.current_flow(), []).append((grant, interrupt))
        grant.interrupt_on_loss(interrupt)
        return grant

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        grant, interrupt = self._leave_block()
        grant.forget_interrupt(interrupt)
        if await interrupt.finish(error):
            error = None
        if grant.released:
            return
        try:
            await grant.release()
        except FencepostError:
            # What the body raised matters more than what became of the lock meanwhile.
            if error is None:
                raise

    def _leave_block(self) -> tuple[AsyncGrant, runtime.Interrupt]:
        flow = runtime.current_flow()
        blocks = self._blocks[flow]
        block = blocks.pop()
        if not blocks:
            del self._blocks[flow]
        return block
