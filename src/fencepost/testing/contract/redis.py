"""The sites of Redis: one for each of its schemes, and redis-py's own lock as the neighbour."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from fencepost.engines.redis.address import Address
from fencepost.testing import redis
from fencepost.testing.contract.site import Neighbour, Site

Client = Any


class RedisPyLock:
    """redis-py's `Lock` on one name."""

    def __init__(self, make: Callable[[], Client], clients: list[Client], site: Site, name: str) -> None:
        client = make()
        clients.append(client)
        self._lock = client.lock(name, timeout=20)

    def try_acquire(self) -> bool:
        return bool(self._lock.acquire(blocking=False))

    def release(self) -> None:
        self._lock.release()


@contextmanager
def site(scheme: str) -> Iterator[Site]:
    """The server of that scheme, emptied."""
    import redis as redis_py

    client: Callable[[], Client]
    match scheme:
        case "redis":
            port = redis.shared_server()
            addresses, url = [Address(port=port)], f"redis://127.0.0.1:{port}"
            client = partial(redis_py.Redis, port=port)
        case "rediss":
            port, certificate = redis.shared_tls()
            url = f"rediss://127.0.0.1:{port}?ca={certificate}"
            addresses = []
            client = partial(redis_py.Redis, port=port, ssl=True, ssl_ca_certs=certificate)
        case "redis+unix":
            path = redis.shared_socket()
            addresses, url = [Address(socket=path)], f"redis+unix://{path}"
            client = partial(redis_py.Redis, unix_socket_path=path)
        case "redis+sentinel":
            port, sentinel = redis.shared_sentinel()
            addresses, url = [Address(port=port)], f"redis+sentinel://127.0.0.1:{sentinel}/service"
            client = partial(redis_py.Redis, port=port)
        case _:
            ports = redis.shared_cluster()
            addresses = [Address(port=port) for port in ports]
            url = f"redis+cluster://{','.join(f'127.0.0.1:{port}' for port in ports)}"
            client = partial(redis_py.RedisCluster, host="127.0.0.1", port=ports[0])
    clients: list[Client] = []
    _empty(addresses, client)
    neighbours: dict[str, Callable[[Site, str], Neighbour]] = {"redis-py": partial(RedisPyLock, client, clients)}
    try:
        yield Site(url, ttl=1.2, neighbours=neighbours)
    finally:
        for each in clients:
            each.close()


def _empty(addresses: list[Address], client: Callable[[], Client]) -> None:
    for address in addresses:
        redis.command(address, "FLUSHALL")
    if not addresses:
        made = client()
        made.flushall()
        made.close()
