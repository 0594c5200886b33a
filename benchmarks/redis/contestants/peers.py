"""Other libraries for locks in Redis, with their defaults and a time to live. None of them has tokens."""

from typing import Any

import pottery
import redis
import redis.asyncio
import redis_lock
import redlock

from benchmarks.contestant import Contestant
from benchmarks.loop import AsyncContestant

TTL = 60


class Peer(Contestant):
    """One client, and one lock on it."""

    def __init__(self, port: int) -> None:
        self._client = redis.Redis(port=port)
        self._lock = self.lock(self._client)

    def lock(self, client: redis.Redis) -> Any:
        raise NotImplementedError

    def acquire(self) -> None:
        self._lock.acquire()

    def release(self) -> None:
        self._lock.release()

    def close(self) -> None:
        self._client.close()


class RedisPy(Peer):
    name = "redis-py Lock"

    def lock(self, client: redis.Redis) -> Any:
        return client.lock("redis-py", timeout=TTL)


class RedisPyAsync(AsyncContestant):
    name = "redis.asyncio Lock"

    async def open(self, place: int) -> None:
        self._client = redis.asyncio.Redis(port=place)
        self._lock = self._client.lock("redis.asyncio", timeout=TTL)

    async def take(self) -> None:
        await self._lock.acquire()

    async def give_back(self) -> None:
        await self._lock.release()

    async def leave(self) -> None:
        await self._client.aclose()


class PythonRedisLock(Peer):
    name = "python-redis-lock"

    def lock(self, client: redis.Redis) -> Any:
        return redis_lock.Lock(client, "python-redis-lock", expire=TTL)


class RedlockPy(Contestant):
    """On one server. It gives up after three tries, so whoever must have the lock asks again."""

    name = "redlock-py, 1 server"

    def __init__(self, port: int) -> None:
        self._client = redis.Redis(port=port)
        self._manager = redlock.Redlock([self._client])
        self._lock: redlock.Lock

    def acquire(self) -> None:
        while not (taken := self._manager.lock("redlock-py", TTL * 1000)):
            pass
        self._lock = taken

    def release(self) -> None:
        self._manager.unlock(self._lock)

    def close(self) -> None:
        self._client.close()


class Pottery(Peer):
    """On one server."""

    name = "pottery, 1 server"

    def lock(self, client: redis.Redis) -> Any:
        return pottery.Redlock(key="pottery", masters={client}, auto_release_time=TTL)
