"""fencepost, through its public face: what its contestants at all places have in common."""

from typing import Any, ClassVar

import fencepost
from benchmarks.contestant import Contestant
from benchmarks.loop import AsyncContestant


class Fencepost(Contestant):
    """`url` says where; a `ttl` is long enough that no renewal falls into a batch."""

    tokens = True
    ttl: ClassVar[float] = 60.0

    def __init__(self, place: Any) -> None:
        self._session = fencepost.connect(self.url(place), ttl=self.ttl)
        self._lock = self._session.lock("lock")
        self._grant = self._lock.acquire()
        self._grant.release()

    def url(self, place: Any) -> str:
        raise NotImplementedError

    def acquire(self) -> None:
        self._grant = self._lock.acquire()

    def release(self) -> None:
        self._grant.release()

    def close(self) -> None:
        self._session.close()


class FencepostAsync(AsyncContestant):
    """The asynchronous twin."""

    tokens = True
    ttl: ClassVar[float] = 60.0

    async def open(self, place: Any) -> None:
        self._session = fencepost.connect_async(self.url(place), ttl=self.ttl)
        self._lock = self._session.lock("lock async")
        self._grant: fencepost.AsyncGrant
        await self.take()
        await self.give_back()

    def url(self, place: Any) -> str:
        raise NotImplementedError

    async def take(self) -> None:
        self._grant = await self._lock.acquire()

    async def give_back(self) -> None:
        await self._grant.release()

    async def leave(self) -> None:
        await self._session.close()

    def cycles(self, count: int) -> list[int]:
        # The lease may have run out while others were measured: nothing is renewed while the loop stands still.
        self.acquire()
        self.release()
        return super().cycles(count)
