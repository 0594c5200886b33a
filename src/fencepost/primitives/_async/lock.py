# Written by hand; the blocking twin under _sync is generated from it.
"""The lock."""

from fencepost._runtime import aio as runtime
from fencepost.core.claim import Ask
from fencepost.primitives._async.acquirable import AsyncAcquirable
from fencepost.session._async.grant import AsyncGrant
from fencepost.session._async.presence import AsyncPresence
from fencepost.session._async.pursuit import Denial, obtain


class AsyncLock(AsyncAcquirable[AsyncGrant]):
    """One name, to be held by one at a time (or, shared, by many readers; or, counted, by so many).

    The grant is the owner, not the thread or task. At any instant two processes may both *believe* to hold the
    lock for a moment (one of them was paused); `grant.token` and a fence at the resource are what protects against
    that.
    """

    def __init__(
        self,
        presence: AsyncPresence,
        ask: Ask,
        *,
        timeout: float | None = None,
        priority: int = 0,
        reentrant: bool = False,
    ) -> None:
        super().__init__(presence, (ask,), timeout, priority)
        self._reentrant = reentrant

    @property
    def name(self) -> str:
        return self._asks[0].name

    def __repr__(self) -> str:
        return f"<{type(self).__name__} '{self.name}'>"

    async def _take(self, timeout: float | None, taken: list[AsyncGrant]) -> Denial | None:
        if not self._reentrant:
            return await obtain(self._presence, self._asks, timeout, taken, self._priority)
        flow = runtime.current_flow()
        held = self._presence.reentrance.held(self.name, flow)
        if held is not None:
            depth = held._depth
            try:
                taken.append(held.reenter())
            except BaseException:
                if not taken:
                    # Nobody would give it back once more.
                    held._depth = depth
                raise
            return None
        denial = await obtain(self._presence, self._asks, timeout, taken, self._priority)
        if denial is None:
            self._presence.reentrance.enter(taken[0], flow)
        return denial

    def _held(self, taken: list[AsyncGrant]) -> AsyncGrant:
        return taken[0]
