"""Where locks stand and how their nodes are made: what all sessions of one engine have in common."""

import time
from collections.abc import Iterator

from fencepost.engines.zookeeper import jute
from fencepost.engines.zookeeper.address import Address
from fencepost.engines.zookeeper.contender import Recipe
from fencepost.engines.zookeeper.lease import Entry
from fencepost.engines.zookeeper.path import Folder

MOST_KNOWN = 10_000


class Ground:
    def __init__(self, address: Address) -> None:
        self.address = address
        self.folder = Folder(address.prefix)
        self.recipe = Recipe(address.recipe)
        self._locks: dict[str, bytes] = {}
        # Locks whose node was there when we last looked.
        self._known: set[bytes] = set()
        # What the leader's clock shows more than ours, in seconds.
        self._ahead: float | None = None

    def lock(self, name: str) -> bytes:
        path = self._locks.get(name)
        if path is None:
            if len(self._locks) >= MOST_KNOWN:
                self._locks.clear()
            path = self._locks[name] = self.folder.lock(name)
        return path

    def entrances(self, entry: Entry, card: bytes) -> Iterator[list[bytes]]:
        """Ways to take a place in a line and see who is there, to be tried in this order while a node above is missing.

        The node of a lock is a container, which the servers remove some time after its last contender has left.
        """
        acl, lock = self.address.acl, entry.lock
        enter = [
            jute.create(jute.CREATE2, b"%b/%b" % (lock, entry.stem), card, acl, jute.EPHEMERAL_SEQUENCE),
            jute.read(jute.GET_CHILDREN, lock),
        ]
        if lock in self._known:
            yield enter
        container = jute.create(jute.CREATE_CONTAINER, lock, b"", acl, jute.CONTAINER)
        yield [container, *enter]
        above = [jute.create(jute.CREATE, path, b"", acl, jute.PERSISTENT) for path in self.folder.above()]
        yield [*above, container, *enter]

    def found(self, lock: bytes, made: jute.Stat, now: float) -> None:
        """A node was made there, just now."""
        if lock not in self._known:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known.add(lock)
        self._ahead = made.created_at / 1000 - now

    def age(self, stat: jute.Stat, now: float) -> float:
        """How long ago a node was made, for people: by the leader's clock as far as we have seen it, else by ours."""
        ahead = time.time() - now if self._ahead is None else self._ahead
        return max(0.0, now + ahead - stat.created_at / 1000)
