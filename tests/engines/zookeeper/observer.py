"""An eye of its own on the servers: kazoo, which knows nothing of ours."""

from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from fencepost.testing.zookeeper import ZookeeperServer


class Observer:
    def __init__(self, server: ZookeeperServer) -> None:
        self.client: Any = KazooClient(hosts=f"127.0.0.1:{server.port}", timeout=20)

    def __enter__(self) -> "Observer":
        self.client.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.client.stop()
        self.client.close()

    def nodes(self, path: str) -> list[str]:
        """The children of a node, in order of arrival."""
        try:
            self.client.sync(path)
            return sorted(self.client.get_children(path), key=lambda node: node[-10:])
        except NoNodeError:
            return []

    def nodes_as(self, credentials: str, path: str) -> list[str]:
        """The same, as somebody who may see them."""
        self.client.add_auth("digest", credentials)
        return self.nodes(path)

    def tokens(self, path: str) -> list[int]:
        return [self.client.exists(f"{path}/{node}").czxid for node in self.nodes(path)]
