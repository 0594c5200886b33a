"""kazoo: its lock, and the calls that a thin class on it would make. Neither knows when its lock is lost."""

import threading

from kazoo.client import KazooClient

from benchmarks.contestant import Contestant


class KazooLock(Contestant):
    name = "kazoo Lock"

    def __init__(self, port: int) -> None:
        self._client = KazooClient(hosts=f"127.0.0.1:{port}", timeout=10)
        self._client.start()
        self._lock = self._client.Lock("/kazoo")
        self.acquire()
        self.release()

    def acquire(self) -> None:
        self._lock.acquire()

    def release(self) -> None:
        self._lock.release()

    def close(self) -> None:
        self._client.stop()
        self._client.close()


class KazooCalls(Contestant):
    """Create and list sent together through kazoo, the predecessor watched, the node's stat for a token."""

    name = "kazoo calls alone"
    tokens = True

    def __init__(self, port: int) -> None:
        self._client = KazooClient(hosts=f"127.0.0.1:{port}", timeout=10)
        self._client.start()
        self._client.ensure_path("/calls")
        self._node = ""

    def acquire(self) -> None:
        client = self._client
        creating = client.create_async("/calls/x__lock__", b"", ephemeral=True, sequence=True, include_data=True)
        listing = client.get_children_async("/calls")
        self._node, _ = creating.get()
        mine = self._node[-10:]
        before = sorted(child[-10:] for child in listing.get() if child[-10:] < mine)
        while before:
            gone = threading.Event()
            if client.exists("/calls/x__lock__" + before.pop(), lambda _, gone=gone: gone.set()):
                gone.wait()

    def release(self) -> None:
        self._client.delete(self._node)

    def close(self) -> None:
        self._client.stop()
        self._client.close()
