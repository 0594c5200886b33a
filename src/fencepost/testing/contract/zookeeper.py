"""The site of ZooKeeper: one server, and kazoo's own lock as the neighbour."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from fencepost.engines.zookeeper.path import encode
from fencepost.testing.contract.site import Neighbour, Site
from fencepost.testing.zookeeper import shared_server

Client = Any


class KazooLock:
    """kazoo's `Lock` on one name."""

    def __init__(self, hosts: str, folder: str, clients: list[Client], site: Site, name: str) -> None:
        from kazoo.client import KazooClient

        client = KazooClient(hosts=hosts, timeout=20)
        client.start()
        clients.append(client)
        path = f"/{folder}/{encode(name)}"
        # To stay: kazoo makes the path once for each `Lock`, and the servers remove what we make when it is empty.
        client.ensure_path(path)
        self._lock = client.Lock(path, "neighbour")

    def try_acquire(self) -> bool:
        return bool(self._lock.acquire(blocking=False))

    def release(self) -> None:
        self._lock.release()


@contextmanager
def site(scheme: str = "zookeeper", hosts: str | None = None) -> Iterator[Site]:
    """A folder of its own at the servers that `hosts` names, by default at one that all tests of a process share."""
    hosts = hosts or f"127.0.0.1:{shared_server().port}"
    folder = uuid.uuid4().hex
    clients: list[Client] = []
    neighbours: dict[str, Callable[[Site, str], Neighbour]] = {"kazoo": partial(KazooLock, hosts, folder, clients)}
    try:
        # A Java server stops now and then to collect its garbage.
        yield Site(f"zookeeper://{hosts}/{folder}", ttl=2.1, neighbours=neighbours)
    finally:
        for client in clients:
            client.stop()
            client.close()
