# Written by hand; the blocking twin under _sync is generated from it.
"""Several locks at once: all or none, and no deadlock whatever the order in which callers name them."""

from fencepost._runtime import aio as runtime
from fencepost.core.claim import Ask
from fencepost.core.deadline import Deadline
from fencepost.primitives._async.acquirable import AsyncAcquirable, give_up
from fencepost.primitives._async.grants import AsyncGrants
from fencepost.session._async.grant import AsyncGrant
from fencepost.session._async.presence import AsyncPresence
from fencepost.session._async.pursuit import Denial, obtain


class AsyncLockAll(AsyncAcquirable[AsyncGrants]):
    """Where the engine can, all names are granted in one atomic step: whoever waits holds none of them meanwhile.

    Elsewhere they are taken one after the other, in the same order by everybody.
    """

    def __init__(
        self, presence: AsyncPresence, asks: tuple[Ask, ...], *, timeout: float | None = None, priority: int = 0
    ) -> None:
        super().__init__(presence, tuple(sorted(asks)), timeout, priority)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(ask.name for ask in self._asks)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {', '.join(repr(name) for name in self.names)}>"

    async def _take(self, timeout: float | None, taken: list[AsyncGrant]) -> Denial | None:
        if self._presence.traits.together:
            return await obtain(self._presence, self._asks, timeout, taken, self._priority)
        return await self._take_in_order(timeout, taken)

    async def _take_in_order(self, timeout: float | None, taken: list[AsyncGrant]) -> Denial | None:
        now = self._presence.clock.now
        started_at = now()
        deadline = Deadline.after(started_at, timeout)
        back_by = self._presence.limits.back_by(started_at, timeout)
        try:
            for ask in self._asks:
                left = None if timeout is None else deadline.left(now())
                denial = await obtain(self._presence, (ask,), left, taken, self._priority, back_by=back_by)
                if denial is not None:
                    await runtime.shielded(give_up(self._presence, taken, None, back_by))
                    taken.clear()
                    return denial._replace(waited=now() - started_at)
            return None
        except BaseException as error:
            await runtime.shielded(give_up(self._presence, taken, error, back_by))
            raise

    def _held(self, taken: list[AsyncGrant]) -> AsyncGrants:
        return AsyncGrants(taken)
