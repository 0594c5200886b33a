"""Who is measured. Each is used as its own documentation recommends, with one object kept for all cycles."""

import asyncio
import hashlib
import random
import socket
import time
import uuid
from collections.abc import Coroutine
from time import monotonic_ns, perf_counter_ns
from typing import Any, ClassVar, TypeVar

import redlock

import fencepost
from benchmarks.contestant import Contestant
from benchmarks.redlock.nodes import Ports
from fencepost.engines.redis.resp import pack

T = TypeVar("T")
TTL_MS = 10_000
UNLOCK = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) else return 0 end"


class BareSockets(Contestant):
    """The limit: Redlock as published on five raw sockets, all written to before any is read, and without a token.

    Refused, it gives its votes back and tries again 0 to 2 ms later.
    """

    name = "five bare sockets"

    def __init__(self, ports: Ports) -> None:
        self._sockets = [socket.create_connection(("127.0.0.1", port)) for port in ports]
        self._majority = len(ports) // 2 + 1
        value = uuid.uuid4().hex
        self._claim = pack("SET", "bare", value, "NX", "PX", TTL_MS)
        self._release = pack("EVALSHA", hashlib.sha1(UNLOCK.encode()).hexdigest(), 1, "bare", value)
        for each in self._sockets:
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._ask(pack("SCRIPT", "LOAD", UNLOCK))

    def _ask(self, command: bytes) -> list[bytes]:
        for each in self._sockets:
            each.sendall(command)
        return [each.recv(4096) for each in self._sockets]

    def acquire(self) -> None:
        while True:
            sent = time.monotonic()
            votes = self._ask(self._claim).count(b"+OK\r\n")
            if votes >= self._majority and time.monotonic() - sent < TTL_MS / 1000:
                return
            self._ask(self._release)
            time.sleep(random.uniform(0, 0.002))

    def release(self) -> None:
        self._ask(self._release)

    def close(self) -> None:
        for each in self._sockets:
            each.close()


class Fencepost(Contestant):
    name = "fencepost redlock://"
    tokens = True
    scheme: ClassVar[str] = "redlock"

    def __init__(self, ports: Ports) -> None:
        self._session = fencepost.connect(_url(ports))
        self._lock = self._session.lock("ours")
        self._grant = self._lock.acquire()
        self._grant.release()

    def acquire(self) -> None:
        self._grant = self._lock.acquire()

    def release(self) -> None:
        self._grant.release()

    def close(self) -> None:
        self._session.close()


class FencepostAsync(Contestant):
    """The asynchronous twin. Its cycles are timed inside one task, so the event loop's start is not counted."""

    name = "fencepost redlock:// async"
    tokens = True

    def __init__(self, ports: Ports) -> None:
        self._loop = asyncio.new_event_loop()
        self._session = fencepost.connect_async(_url(ports))
        self._lock = self._session.lock("ours, async")
        self._grant: fencepost.AsyncGrant
        self.acquire()
        self.release()

    def acquire(self) -> None:
        self._grant = self._run(self._lock.acquire())

    def release(self) -> None:
        self._run(self._grant.release())

    def close(self) -> None:
        self._run(self._session.close())
        self._loop.close()

    def cycles(self, count: int) -> list[int]:
        return self._run(self._cycles(count))

    def contend(self, start_ns: int, until_ns: int) -> int:
        return self._run(self._contend(start_ns, until_ns))

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._loop.run_until_complete(work)

    async def _cycles(self, count: int) -> list[int]:
        taken = []
        for _ in range(count):
            before = perf_counter_ns()
            grant = await self._lock.acquire()
            await grant.release()
            taken.append(perf_counter_ns() - before)
        return taken

    async def _contend(self, start_ns: int, until_ns: int) -> int:
        count = 0
        while True:
            grant = await self._lock.acquire()
            await grant.release()
            now = monotonic_ns()
            if now >= until_ns:
                return count
            count += now >= start_ns


class RedlockPy(Contestant):
    """Its defaults give up after three tries; it tries again, as its users do."""

    name = "redlock-py"

    def __init__(self, ports: Ports) -> None:
        self._manager = redlock.Redlock([{"host": "127.0.0.1", "port": port} for port in ports])
        self._lock: Any = None

    def acquire(self) -> None:
        while not (lock := self._manager.lock("redlock-py", TTL_MS)):
            pass
        self._lock = lock

    def release(self) -> None:
        self._manager.unlock(self._lock)

    def close(self) -> None:
        for server in self._manager.servers:
            server.close()


def _url(ports: Ports) -> str:
    return f"redlock://{','.join(f'127.0.0.1:{port}' for port in ports)}"


ALL: dict[str, type[Contestant]] = {kind.name: kind for kind in (BareSockets, Fencepost, FencepostAsync, RedlockPy)}
