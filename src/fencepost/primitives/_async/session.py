# Written by hand; the blocking twin under _sync is generated from it.
"""The session as users meet it: a factory for every primitive."""

from types import TracebackType
from typing import TYPE_CHECKING, Self

from fencepost.core.claim import Ask
from fencepost.core.duration import check_timeout
from fencepost.core.name import check_name
from fencepost.errors import Unsupported
from fencepost.primitives._async.lock import AsyncLock
from fencepost.primitives._async.once import AsyncOnce
from fencepost.primitives._async.rwlock import AsyncReadWriteLock
from fencepost.session._async.presence import AsyncPresence

if TYPE_CHECKING:
    from fencepost.fences.result._async.store import AsyncResults


class AsyncSession(AsyncPresence):
    """This process's presence at an engine; made by `connect_async`. Thread-safe and task-safe."""

    async def __aenter__(self) -> Self:
        await self.keeper()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def lock(self, name: str, *, timeout: float | None = None, reentrant: bool = False, note: str = "") -> AsyncLock:
        """A lock on `name`. Nothing is sent until it is acquired.

        `timeout` is how long entering it waits: None for ever, 0 not at all. A `reentrant` lock may be entered
        again by the thread or task that holds it, and keeps its token. `note` is shown to whoever looks.
        """
        return AsyncLock(self, Ask(check_name(name), note=note), timeout=timeout, reentrant=reentrant)

    def rwlock(self, name: str, *, timeout: float | None = None, note: str = "") -> AsyncReadWriteLock:
        """A read/write lock on `name`: `.read()` is shared, `.write()` exclusive."""
        if not self.traits.shared:
            raise Unsupported("this engine has no shared locks: see its traits")
        return AsyncReadWriteLock(self, check_name(name), timeout=timeout, note=note)

    def once(
        self,
        key: str,
        *,
        store: "AsyncResults | None" = None,
        expires_in: float | None = None,
        timeout: float | None = None,
    ) -> AsyncOnce:
        """Once-only work for `key`: `await session.once(key).run(work)`, or as a decorator.

        `store` is where results are kept (`fencepost.fences.result`); engines of one host have one beside their state.
        `expires_in`: after how many seconds the work may be done again; by default never. `timeout`: how long to wait
        for whoever is at it.
        """
        if store is None:
            from fencepost.primitives._async.result import default_results

            store = default_results(self.engine)
        expiry = check_timeout(expires_in, "expires_in")
        return AsyncOnce(check_name(key), store, lambda name: self.lock(name, timeout=timeout), expires_in=expiry)
