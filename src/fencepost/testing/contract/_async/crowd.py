# Written by hand; the blocking twin under _sync is generated from it.
"""Where many wait, a release wakes exactly those that can run now: one, all readers up to the next writer, or as many
as there are permits."""

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self

from fencepost._runtime import aio as runtime
from fencepost.primitives._async.session import AsyncSession
from fencepost.session._async.grant import AsyncGrant
from fencepost.testing.contract._async.attempt import AsyncAttempt, until
from fencepost.testing.contract._async.place import LASTING, connect_faulty, connect_to, waiters
from fencepost.testing.contract.need import needs
from fencepost.testing.contract.site import Site

SESSIONS = 4
MANY = 100
# Where who is woken does not depend on how many wait.
SOME = 20
# Longer than any engine takes to let so many come: their waits end with the lease and begin anew.
TTL = LASTING
LONG = 90.0
# Long enough for any other to stir, if it was woken.
A_WHILE = 0.1

Waiter = AsyncAttempt[AsyncGrant]


class AsyncCrowdChapter:
    async def test_of_a_hundred_who_wait_a_release_wakes_one(self, site: Site) -> None:
        async with connect_to(site, ttl=TTL) as first, AsyncCrowd(site, first) as crowd:
            held = await first.lock("a").acquire()
            attempts = await crowd.join(MANY, lambda session: session.lock("a").acquire)
            for _ in range(3):
                calls = crowd.calls()
                await held.release()
                (woken,) = await _woken(attempts, 1)
                assert crowd.calls() == calls
                attempts.remove(woken)
                held = await woken.outcome()

    @needs("shared")
    async def test_all_readers_up_to_the_next_writer_are_woken(self, site: Site) -> None:
        async with connect_to(site, ttl=TTL) as first, AsyncCrowd(site, first) as crowd:
            held = await first.rwlock("a").write().acquire()
            readers = await crowd.join(SOME, lambda session: session.rwlock("a").read().acquire)
            (writer,) = await crowd.join(1, lambda session: session.rwlock("a").write().acquire)
            late = await crowd.join(SOME, lambda session: session.rwlock("a").read().acquire)
            await held.release()
            assert set(await _woken([*readers, writer, *late], SOME)) == set(readers)
            for reader in readers:
                await (await reader.outcome()).release()
            assert await _woken([writer, *late], 1) == [writer]
            await (await writer.outcome()).release()
            assert len(await _woken(late, SOME)) == SOME

    @needs("counted")
    async def test_as_many_are_woken_as_there_are_permits(self, site: Site) -> None:
        async with connect_to(site, ttl=TTL) as first, AsyncCrowd(site, first) as crowd:
            three, two = [await first.semaphore("a", limit=5, weight=weight).acquire() for weight in (3, 2)]
            attempts = await crowd.join(SOME, lambda session: session.semaphore("a", limit=5).acquire)
            await three.release()
            woken = await _woken(attempts, 3)
            attempts = [each for each in attempts if each not in woken]
            await two.release()
            assert len(await _woken(attempts, 2)) == 2


class AsyncCrowd:
    """A few sessions in which many wait."""

    def __init__(self, site: Site, first: AsyncSession) -> None:
        self._first = first
        self._pairs = [connect_faulty(site, label=f"crowd {number}", ttl=TTL) for number in range(SESSIONS)]
        self._count = 0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for session, _ in self._pairs:
            await session.close()

    async def join(self, count: int, ask: Callable[[AsyncSession], Any]) -> list[Waiter]:
        """They come at once, in any order, behind all who came before."""
        attempts = [AsyncAttempt(ask(self._pairs[number % SESSIONS][0])) for number in range(count)]
        self._count += count

        async def at_rest() -> bool:
            return sum(engine.calls.count("wait") for _, engine in self._pairs) >= self._count

        await until(at_rest, LONG)
        # Asked once all are there: to show so many is work for the server.
        assert len(await waiters(self._first, "a")) == self._count
        return attempts

    def calls(self) -> list[int]:
        """How much each session has asked of its engine that a herd would ask."""
        return [sum(call not in ("lease_renew", "release") for call in engine.calls) for _, engine in self._pairs]


async def _woken(attempts: Sequence[Waiter], count: int) -> list[Waiter]:
    """Those who have it, once they are that many; and a while later no more have."""

    async def enough() -> bool:
        return sum(each.ended.is_set() for each in attempts) >= count

    await until(enough, LONG)
    await runtime.sleep(A_WHILE)
    found = [each for each in attempts if each.ended.is_set()]
    held = [(attempts.index(each), (await each.outcome()).token) for each in found]
    assert len(found) == count, f"who came when, and the token: {held}"
    return found
