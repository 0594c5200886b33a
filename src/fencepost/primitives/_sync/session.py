# Generated from src/fencepost/primitives/_async/session.py by tools/unasync.py. Do not edit: run `make gen`.
"""The session as users meet it: a factory for every primitive."""

from types import TracebackType
from typing import TYPE_CHECKING, Self

from fencepost.core.claim import Ask
from fencepost.core.duration import check_timeout
from fencepost.core.name import check_name
from fencepost.errors import Unsupported
from fencepost.primitives._sync.lock import Lock
from fencepost.primitives._sync.once import Once
from fencepost.primitives._sync.rwlock import ReadWriteLock
from fencepost.session._sync.presence import Presence

if TYPE_CHECKING:
    from fencepost.fences.result._sync.store import Results


class Session(Presence):
    """This process's presence at an engine; made by `connect`. Thread-safe and task-safe."""

    def __enter__(self) -> Self:
        self.keeper()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def lock(self, name: str, *, timeout: float | None = None, reentrant: bool = False, note: str = "") -> Lock:
        """A lock on `name`. Nothing is sent until it is acquired.

        `timeout` is how long entering it waits: None for ever, 0 not at all. A `reentrant` lock may be entered
        again by the thread or task that holds it, and keeps its token. `note` is shown to whoever looks.
        """
        return Lock(self, Ask(check_name(name), note=note), timeout=timeout, reentrant=reentrant)

    def rwlock(self, name: str, *, timeout: float | None = None, note: str = "") -> ReadWriteLock:
        """A read/write lock on `name`: `.read()` is shared, `.write()` exclusive."""
        if not self.traits.shared:
            raise Unsupported("this engine has no shared locks: see its traits")
        return ReadWriteLock(self, check_name(name), timeout=timeout, note=note)

    def once(
        self,
        key: str,
        *,
        store: "Results | None" = None,
        expires_in: float | None = None,
        timeout: float | None = None,
    ) -> Once:
        """Once-only work for `key`: `session.once(key).run(work)`, or as a decorator.

        `store` is where results are kept (`fencepost.fences.result`); engines of one host have one beside their state.
        `expires_in`: after how many seconds the work may be done again; by default never. `timeout`: how long to wait
        for whoever is at it.
        """
        if store is None:
            from fencepost.primitives._sync.result import default_results

            store = default_results(self.engine)
        expiry = check_timeout(expires_in, "expires_in")
        return Once(check_name(key), store, lambda name: self.lock(name, timeout=timeout), expires_in=expiry)
