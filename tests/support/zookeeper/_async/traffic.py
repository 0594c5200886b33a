# Written by hand; the blocking twin under _sync is generated from it.
"""Sessions that want one lock all the time, and a history of who had it when by its own deadline."""

import itertools
import uuid
from types import TracebackType
from typing import Self

import fencepost
from fencepost._runtime import aio as runtime
from fencepost.primitives._async.connect import connect_async
from fencepost.session._async.grant import AsyncGrant
from fencepost.testing.contract._async.attempt import AsyncAttempt
from tests.support.tenure import Tenure, check
from tests.support.zookeeper._async.patience import PATIENCE, so

now = runtime.BootClock.now


class AsyncTraffic:
    """A context: `count` sessions take turns, each holding for a moment, until it ends."""

    def __init__(self, url: str, count: int = 4, *, ttl: float = 9.0) -> None:
        self.history: list[Tenure] = []
        self._url = f"{url}/{uuid.uuid4().hex}"
        self._ttl = ttl
        self._stop = runtime.Event()
        self._count = count
        self._workers: list[AsyncAttempt[None]] = []
        # Some hold it for as long as it takes to say so, some for longer.
        self._moments = itertools.cycle((0.001, 0.05, 0.001, 0.001, 0.05))

    async def __aenter__(self) -> Self:
        for _ in range(self._count):
            self._workers.append(AsyncAttempt(self._work))
        await self.until_granted(4)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        for worker in self._workers:
            await worker.outcome(PATIENCE)

    async def until_granted(self, more: int) -> None:
        """Until that many more grants have come and gone."""
        wanted = len(self.history) + more
        await so(lambda: len(self.history) >= wanted)

    async def _work(self) -> None:
        session = connect_async(self._url, ttl=self._ttl)
        while not self._stop.is_set():
            try:
                grant = await session.lock("a").acquire(timeout=self._ttl)
            except fencepost.FencepostError:
                # No majority, or no turn in time.
                await runtime.sleep(0.02)
                continue
            self.history.append(await self._hold(grant))
            try:
                await grant.release()
            except fencepost.FencepostError:
                pass
        await session.close()

    async def _hold(self, grant: AsyncGrant) -> Tenure:
        tenure = Tenure(grant)
        end_at = now() + next(self._moments)
        while tenure.goes_on() and now() < end_at:
            await runtime.sleep(0.002)
        return tenure

    def check(self) -> None:
        """No two at once, and tokens in the order of grants."""
        check(self.history)
