# Generated from src/fencepost/fences/zookeeper/_async/fence.py by tools/unasync.py. Do not edit: run `make gen`.
"""The fence that lives in the ZooKeeper it protects."""

from collections.abc import Iterator, Callable
from contextlib import contextmanager
from typing import Any

from fencepost._runtime import threads as runtime
from fencepost.core.name import check_name, check_text
from fencepost.errors import Unavailable
from fencepost.fences.protocol import Tokened, check, token_of
from fencepost.fences.zookeeper.mark import FOLDER, Mark, failure, mark_of, mark_path, says_changed

MOST_ATTEMPTS = 100
Steps = Callable[[Any], object]


class ZookeeperFence:
    """Guards what is in the ZooKeeper of `client`, a started `KazooClient`.

    The mark of a name is a node of its own in `folder`, kept for ever. Showing a token is a write that a majority of
    the servers takes, also when it is shown again, so no server that lags can let a stale one pass. A guarded read
    shows the token first, and what it returns is no older than that; guarded writes are one transaction that checks
    that the mark is still ours. A lower token raises `Stale`, and nothing is read or written.

    Limits. What kazoo raises comes through: after a lost connection a write may or may not have happened, and kazoo's
    `retry` around it may do it twice. Only one transaction's worth (1 MB by default) can be written in one step.
    kazoo blocks, so the asynchronous fence calls it in threads.
    """

    def __init__(self, client: Any, folder: str = FOLDER) -> None:
        if not hasattr(client, "transaction"):
            raise TypeError(f"a ZooKeeper fence takes a client of kazoo, not {type(client).__name__}")
        self._client = client
        self._folder = check_text(folder, "the folder of marks").rstrip("/")

    def claim(self, name: str, grant: Tokened | int) -> None:
        """Show the token: every lower one is refused from now on."""
        self._write(name, grant, _nothing)

    def highest(self, name: str) -> int:
        """The mark of `name`, 0 if no token was ever accepted. For people and tests; it decides nothing."""
        mark = self._mark(mark_path(self._folder, check_name(name)))
        return 0 if mark is None else mark.token

    @contextmanager
    def guard(self, name: str, grant: Tokened | int) -> "Iterator[Guarded]":
        """Claim, then run the block. Its reads see what was there before it; its writes land together when it ends.

        If somebody newer claims while the block runs, ending it raises `Stale` and none of its writes happen.
        If the block raises, none of them happen either, and the claim stands.
        """
        self.claim(name, grant)
        block = Guarded(self, name, grant)
        yield block
        block.land()

    def get(self, name: str, grant: Tokened | int, path: str) -> tuple[bytes, Any]:
        """The data and stat of a node, as kazoo gives them."""
        self.claim(name, grant)
        found: tuple[bytes, Any] = runtime.in_thread(self._client.get, path)
        return found

    def set(self, name: str, grant: Tokened | int, path: str, data: bytes, version: int = -1) -> None:
        self._write(name, grant, lambda steps: steps.set_data(path, data, version))

    def create(self, name: str, grant: Tokened | int, path: str, data: bytes = b"", **options: Any) -> None:
        """Make a node; `options` as kazoo's transactions take them."""
        self._write(name, grant, lambda steps: steps.create(path, data, **options))

    def delete(self, name: str, grant: Tokened | int, path: str, version: int = -1) -> None:
        self._write(name, grant, lambda steps: steps.delete(path, version))

    def transact(self, name: str, grant: Tokened | int, steps: Steps) -> None:
        """Any writes in one step: `steps` is called with a transaction of kazoo's, perhaps more than once."""
        self._write(name, grant, steps)

    def _write(self, name: str, grant: Tokened | int, steps: Steps) -> None:
        """Compare, raise the mark and write, in one transaction; again if the mark has changed under it."""
        path, token = mark_path(self._folder, check_name(name)), token_of(grant)
        for _ in range(MOST_ATTEMPTS):
            mark = self._mark(path)
            transaction = self._client.transaction()
            if mark is None:
                runtime.in_thread(self._client.ensure_path, self._folder)
                transaction.create(path, str(token).encode())
            elif check(name, token, mark.token) == mark.token:
                transaction.check(path, mark.version)
            else:
                transaction.set_data(path, str(token).encode(), mark.version)
            steps(transaction)
            failed = failure(runtime.in_thread(transaction.commit))
            if failed is None:
                return
            if not says_changed(*failed):
                raise failed[1]
            # Somebody else has shown a token, or this server lags behind.
            runtime.in_thread(self._client.sync, self._folder)
        raise Unavailable(f"the mark of '{name}' changed {MOST_ATTEMPTS} times while it was shown a token: try again")

    def _mark(self, path: str) -> Mark | None:
        from kazoo.exceptions import NoNodeError

        try:
            data, stat = runtime.in_thread(self._client.get, path)
        except NoNodeError:
            return None
        return mark_of(path, data, stat.version)


class Guarded:
    """What a guarded block may do. Reads see what was there before the block; its own writes land at its end."""

    def __init__(self, fence: ZookeeperFence, name: str, grant: Tokened | int) -> None:
        self._fence = fence
        self._name = name
        self._grant = grant
        self._steps: list[Steps] = []

    def get(self, path: str) -> tuple[bytes, Any]:
        return self._fence.get(self._name, self._grant, path)

    def set(self, path: str, data: bytes, version: int = -1) -> None:
        self._steps.append(lambda steps: steps.set_data(path, data, version))

    def create(self, path: str, data: bytes = b"", **options: Any) -> None:
        self._steps.append(lambda steps: steps.create(path, data, **options))

    def delete(self, path: str, version: int = -1) -> None:
        self._steps.append(lambda steps: steps.delete(path, version))

    def land(self) -> None:
        """All writes in one step, if the token is not stale by now."""
        if self._steps:
            self._fence.transact(self._name, self._grant, self._all)

    def _all(self, transaction: Any) -> None:
        for step in self._steps:
            step(transaction)


def _nothing(transaction: Any) -> None:
    """Only the token is shown."""
