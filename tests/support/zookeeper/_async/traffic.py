# Written by hand; the blocking twin under _sync is generated from it.
"""Sessions that want one lock all the time, and a history of who had it when by its own deadline."""

import itertools
import random
import uuid
from types import TracebackType
from typing import NamedTuple, Self

import fencepost
from fencepost._runtime import aio as runtime
from fencepost.primitives._async.connect import connect_async
from fencepost.session._async.grant import AsyncGrant
from fencepost.testing.contract._async.attempt import AsyncAttempt
from tests.support.zookeeper._async.patience import so

now = runtime.BootClock.now


class Tenure(NamedTuple):
    """A grant: from when, and until when its holder has seen it as held."""

    token: int
    start: float
    end: float
    who: str


class AsyncTraffic:
    """A context: `count` sessions take turns, each holding for a moment, until it ends."""

    def __init__(self, url: str, count: int = 4, *, ttl: float = 3.0) -> None:
        self.history: list[Tenure] = []
        self._url = f"{url}/{uuid.uuid4().hex}"
        self._ttl = ttl
        self._stop = runtime.Event()
        self._count = count
        self._workers: list[AsyncAttempt[None]] = []

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
            await worker.outcome(30)

    async def until_granted(self, more: int) -> None:
        """Until that many more grants have come and gone."""
        wanted = len(self.history) + more
        await so(lambda: len(self.history) >= wanted, 30)

    async def _work(self) -> None:
        session = connect_async(self._url, ttl=self._ttl)
        while not self._stop.is_set():
            try:
                grant = await session.lock("a").acquire(timeout=self._ttl)
            except fencepost.FencepostError:
                # No majority, or no turn in time.
                await runtime.sleep(0.02)
                continue
            self.history.append(Tenure(grant.token, grant.granted_at, await self._hold(grant), str(grant.holder)))
            try:
                await grant.release()
            except fencepost.FencepostError:
                pass
        await session.close()

    async def _hold(self, grant: AsyncGrant) -> float:
        """Hold it for a while, and say when it was last seen to be held."""
        start = last = grant.granted_at
        while last < start + random.choice((0.001, 0.05)):
            at = now()
            if not grant.held:
                break
            last = at
            await runtime.sleep(0.002)
        return last

    def check(self) -> None:
        """No two at once, and tokens in the order of grants."""
        for one, next_one in itertools.pairwise(sorted(self.history)):
            assert one.token < next_one.token, f"{one} and {next_one} have the same token"
            assert one.end <= next_one.start, f"{next_one} was granted while {one} was"
