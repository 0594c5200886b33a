"""fencepost, through its public face."""

import fencepost
from benchmarks.contestant import Contestant
from benchmarks.redis.contestants.loop import AsyncContestant

# Long enough that no renewal falls into a batch.
CALM_TTL = 3600.0


class FencepostRedis(Contestant):
    name = "fencepost redis://"
    tokens = True

    def __init__(self, port: int) -> None:
        self._session = fencepost.connect(f"redis://127.0.0.1:{port}", ttl=CALM_TTL)
        self._lock = self._session.lock("lock")
        self._session.keeper()
        self._grant: fencepost.Grant

    def acquire(self) -> None:
        self._grant = self._lock.acquire()

    def release(self) -> None:
        self._grant.release()

    def close(self) -> None:
        self._session.close()


class FencepostAsync(AsyncContestant):
    name = "fencepost redis:// async"
    tokens = True

    async def open(self, port: int) -> None:
        self._session = fencepost.connect_async(f"redis://127.0.0.1:{port}", ttl=CALM_TTL)
        self._lock = self._session.lock("lock async")
        await self._session.keeper()
        self._grant: fencepost.AsyncGrant

    async def take(self) -> None:
        self._grant = await self._lock.acquire()

    async def give_back(self) -> None:
        await self._grant.release()

    async def leave(self) -> None:
        await self._session.close()
