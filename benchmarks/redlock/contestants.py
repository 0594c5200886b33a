"""Who is measured. Each is used as its own documentation recommends, with one object kept for all cycles."""

import hashlib
import random
import socket
import time
import uuid
from typing import Any

import redlock

from benchmarks import ours
from benchmarks.contestant import Contestant
from benchmarks.redlock.nodes import Ports
from fencepost.engines.redis.resp import pack

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


class Fencepost(ours.Fencepost):
    name = "fencepost redlock://"

    def url(self, place: Any) -> str:
        return _url(place)


class FencepostAsync(ours.FencepostAsync):
    name = "fencepost redlock:// async"

    def url(self, place: Any) -> str:
        return _url(place)


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
