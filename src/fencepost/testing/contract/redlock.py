"""The site of Redlock: five servers, and redlock-py as the neighbour."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from fencepost.testing.contract.site import Site
from fencepost.testing.redis import command, port_of, redis_server
from fencepost.testing.server import ServerProcess

NODES = 5
_kept: list[ServerProcess] = []


class RedlockPy:
    """redlock-py's lock on one name."""

    def __init__(self, site: Site, name: str) -> None:
        from redlock import Redlock

        self._manager = Redlock([{"host": "127.0.0.1", "port": port} for port in shared_nodes()], retry_count=1)
        self._name = name
        self._lock: Any = None

    def try_acquire(self) -> bool:
        self._lock = self._manager.lock(self._name, 20_000)
        return bool(self._lock)

    def release(self) -> None:
        self._manager.unlock(self._lock)
        for server in self._manager.servers:
            server.close()


@cache
def shared_nodes() -> tuple[int, ...]:
    """Started once for each process that runs tests, and ended with it: emptying them is quicker than starting them."""
    for _ in range(NODES):
        server = redis_server()
        _kept.append(server)
        server.start()
    return tuple(map(port_of, _kept))


def url_of(ports: Iterator[int] | tuple[int, ...] | list[int], options: str = "") -> str:
    return f"redlock://{','.join(f'127.0.0.1:{port}' for port in ports)}{options}"


@contextmanager
def site(scheme: str = "redlock") -> Iterator[Site]:
    ports = shared_nodes()
    for port in ports:
        command(port, "FLUSHALL")
    # Six processes have to get their turn for each answer.
    yield Site(url_of(ports), ttl=2.4, neighbours={"redlock-py": RedlockPy})
