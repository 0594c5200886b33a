"""An eye of its own on the servers: kazoo, which knows nothing of ours."""

import socket
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from fencepost.engines.zookeeper import jute
from fencepost.testing.zookeeper import ZookeeperServer


class Observer:
    def __init__(self, server: ZookeeperServer) -> None:
        self._port = server.port
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

    def end_session(self, session: jute.Session) -> None:
        """As if its time had run out: somebody else who knows its password closes it.

        Its owner may come back in between, and then the server takes no order from us: until it is gone.
        """
        hello = jute.buffer(jute.connect(session, 0, session.timeout))
        while True:
            with socket.create_connection(("127.0.0.1", self._port), timeout=20) as other:
                other.sendall(hello)
                answer = other.recv(1000)
                if answer and not jute.connected(answer[4:]).timeout:
                    return
                other.sendall(jute.frame(1, jute.CLOSING))
                while other.recv(1000):
                    pass

    def tokens(self, path: str) -> list[int]:
        return [self.client.exists(f"{path}/{node}").czxid for node in self.nodes(path)]
