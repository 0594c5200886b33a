# Written by hand; the blocking twin under _sync is generated from it.
"""The session as users meet it: a factory for every primitive."""

from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Self

from fencepost._runtime import aio as runtime
from fencepost.core import schedule as schedules
from fencepost.core.claim import Ask, Mode
from fencepost.core.duration import check_timeout
from fencepost.core.name import check_name, check_names, check_text
from fencepost.core.permit import check_permits
from fencepost.core.priority import check_priority
from fencepost.core.rate import check_rate
from fencepost.errors import Unsupported
from fencepost.primitives._async.barrier import AsyncBarrier
from fencepost.primitives._async.election import AsyncElection
from fencepost.primitives._async.group import AsyncGroup
from fencepost.primitives._async.job import AsyncJob
from fencepost.primitives._async.latch import AsyncLatch
from fencepost.primitives._async.lock import AsyncLock
from fencepost.primitives._async.lock_all import AsyncLockAll
from fencepost.primitives._async.once import AsyncOnce, check_key, check_store
from fencepost.primitives._async.partitions import AsyncPartitions
from fencepost.primitives._async.rate_limit import AsyncRateLimit
from fencepost.primitives._async.rwlock import AsyncReadWriteLock
from fencepost.session._async.presence import AsyncPresence

if TYPE_CHECKING:
    from fencepost.fences.result._async.store import AsyncResults


class AsyncSession(AsyncPresence):
    """This process's presence at an engine; made by `connect_async`. Thread-safe and task-safe."""

    async def __aenter__(self) -> Self:
        self.check_open()
        try:
            async with self._within(self.limits.call):
                await self.keeper()
        except BaseException:
            # Nobody else will: what was not entered is not left.
            await self.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def lock(
        self,
        name: str,
        *,
        timeout: float | None = None,
        priority: int = 0,
        reentrant: bool = False,
        note: str = "",
    ) -> AsyncLock:
        """A lock on `name`. Nothing is sent until it is acquired.

        `timeout` is how long entering it waits: None for ever, 0 not at all. Of those who wait, the highest `priority`
        (from -100 to 100) goes first, and equals in order of arrival; whoever holds the name is not disturbed.
        A `reentrant` lock may be entered again by the thread or task that holds it, and keeps its token. `note` is
        shown to whoever looks.
        """
        if priority or type(priority) is not int:
            self._check_priority(priority)
        if note != "":
            check_text(note, "a note")
        ask = Ask(check_name(name), note=note)
        return AsyncLock(self, ask, timeout=timeout, priority=priority, reentrant=reentrant)

    def rwlock(
        self, name: str, *, timeout: float | None = None, priority: int = 0, note: str = ""
    ) -> AsyncReadWriteLock:
        """A read/write lock on `name`: `.read()` is shared, `.write()` exclusive."""
        if not self.traits.shared:
            raise Unsupported("this engine has no shared locks: see its traits")
        self._check_priority(priority)
        check_text(note, "a note")
        return AsyncReadWriteLock(self, check_name(name), timeout=timeout, priority=priority, note=note)

    def semaphore(
        self,
        name: str,
        *,
        limit: int,
        weight: int = 1,
        timeout: float | None = None,
        priority: int = 0,
        note: str = "",
    ) -> AsyncLock:
        """A lock on `name` that may be held up to `limit` times, or rather by that much `weight` together.

        Each grant has a token of its own. Everybody must name the same limit: another one raises `Conflict`
        while anybody holds or waits.
        """
        if not self.traits.counted:
            raise Unsupported("this engine has no semaphores: see its traits")
        check_permits(limit, weight)
        self._check_priority(priority)
        ask = Ask(check_name(name), Mode.COUNTED, weight, limit, check_text(note, "a note"))
        return AsyncLock(self, ask, timeout=timeout, priority=priority)

    def lock_all(
        self, names: Iterable[str], *, timeout: float | None = None, priority: int = 0, note: str = ""
    ) -> AsyncLockAll:
        """A lock on all of `names`, in whatever order: granted together or not at all, with a token for each."""
        self._check_priority(priority)
        check_text(note, "a note")
        asks = tuple(Ask(name, note=note) for name in check_names(names))
        return AsyncLockAll(self, asks, timeout=timeout, priority=priority)

    def election(
        self,
        name: str,
        *,
        value: str = "",
        timeout: float | None = None,
        healthy: runtime.Work[bool] | None = None,
        check_every: float = 1.0,
    ) -> AsyncElection:
        """The election of one leader among all who campaign for `name`. As a block, it leads inside."""
        return AsyncElection(
            self, check_name(name), value=value, timeout=timeout, healthy=healthy, check_every=check_every
        )

    def group(self, name: str, *, data: str = "") -> AsyncGroup:
        """The group of all who join `name`. As a block, it is a member inside."""
        return AsyncGroup(self, check_name(name), data=data)

    def barrier(self, name: str, parties: int) -> AsyncBarrier:
        """A barrier at which `parties` meet before any of them goes on, again and again."""
        return AsyncBarrier(self, check_name(name), parties)

    def latch(self, name: str, count: int) -> AsyncLatch:
        """A latch that opens once, when `count` steps have been counted down."""
        return AsyncLatch(self, check_name(name), count)

    def partitions(self, name: str, count: int, *, data: str = "") -> AsyncPartitions:
        """`count` partitions, each owned by exactly one of those who work on `name`. As a block, it works inside."""
        return AsyncPartitions(self, check_name(name), count, data=data)

    def rate_limit(self, name: str, limit: int, per: float) -> AsyncRateLimit:
        """At most `limit` in any `per` seconds, counted over all processes that use the name."""
        return AsyncRateLimit(self, check_name(name), check_rate(limit, per))

    def job(
        self,
        name: str,
        *,
        every: float | None = None,
        cron: str | None = None,
        at_least: float = 0.0,
        at_most: float | None = None,
    ) -> AsyncJob:
        """A job that one node runs for all, every so many seconds or by a cron schedule in UTC; or tick by tick."""
        check_name(name)
        if every is not None and cron is not None:
            raise ValueError("a job has one schedule: give `every` or `cron`, not both")
        schedule: schedules.Schedule | None = None if every is None else schedules.every(every)
        if cron is not None:
            schedule = schedules.cron(cron)
        return AsyncJob(self, name, schedule, at_least=at_least, at_most=at_most)

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
        check_key(key)
        if store is None:
            from fencepost.primitives._async.result import default_results

            store = default_results(self.engine)
        check_store(store)
        expiry, seconds = check_timeout(expires_in, "expires_in"), check_timeout(timeout)
        return AsyncOnce(key, store, lambda name: self.lock(name, timeout=seconds), expires_in=expiry)

    def _check_priority(self, priority: int) -> None:
        if check_priority(priority) and not self.traits.priority:
            raise Unsupported(
                f"this engine serves in order of arrival, whatever the priority, and {priority} is asked for: leave it "
                "out, or use an engine with the trait 'priority'"
            )
