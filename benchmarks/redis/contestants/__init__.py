"""Who is measured. Each is used as its own documentation recommends, with one object kept for all cycles."""

from benchmarks.contestant import Contestant
from benchmarks.redis.contestants.bare import BareSocket
from benchmarks.redis.contestants.ours import FencepostAsync, FencepostRedis
from benchmarks.redis.contestants.peers import Pottery, PythonRedisLock, RedisPy, RedisPyAsync, RedlockPy

ALL: dict[str, type[Contestant]] = {
    kind.name: kind
    for kind in (
        BareSocket,
        FencepostRedis,
        FencepostAsync,
        RedisPy,
        RedisPyAsync,
        PythonRedisLock,
        RedlockPy,
        Pottery,
    )
}

__all__ = [
    "ALL",
    "BareSocket",
    "Contestant",
    "FencepostAsync",
    "FencepostRedis",
    "Pottery",
    "PythonRedisLock",
    "RedisPy",
    "RedisPyAsync",
    "RedlockPy",
]
