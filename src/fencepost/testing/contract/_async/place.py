# Written by hand; the blocking twin under _sync is generated from it.
"""What the chapters do at a site: connect, with and without faults, and see who is there."""

from typing import Any

from fencepost._runtime import aio as runtime
from fencepost.contract import registry
from fencepost.core.claim import Ask, Request
from fencepost.core.lease import Terms
from fencepost.core.url import parse_url
from fencepost.primitives._async.connect import connect_async
from fencepost.primitives._async.session import AsyncSession
from fencepost.testing._async.fault import AsyncFaultyEngine
from fencepost.testing.contract._async.attempt import AsyncAttempt, until
from fencepost.testing.contract.site import Site

# A lease that no test outlasts. Its renewals, after a third of it, come later than any test waits for anything: what
# happens within that time was told, and not found out.
LASTING = 120.0
# A lease that can be waited for, and that a machine which stands still for two seconds does not lose.
STURDY = 3.3
# How often a brisk session does what others do at a third of the lease or after a pause.
BRISK = 0.1
# For how long an answer is waited for: a server on a busy machine may take its time, also under a short lease.
PATIENCE = 20.0


class AsyncBriskClock(runtime.BootClock):
    """A real clock, with which nobody waits for long."""

    async def wait(self, event: runtime.Event, until: float) -> bool:
        return await super().wait(event, min(until, self.now() + BRISK))


def connect_to(site: Site, *, label: str = "first", **options: Any) -> AsyncSession:
    """A session as any user gets it, with a lease that lasts."""
    return patient(connect_async(site.url, ttl=options.pop("ttl", LASTING), holder=label, **options))


def patient(session: AsyncSession) -> AsyncSession:
    """With time for an engine on a busy machine to answer a try, and to confirm that nothing is left."""
    session.limits = session.limits._replace(call=PATIENCE, answer=PATIENCE, farewell=PATIENCE)
    return session


def connect_faulty(
    site: Site, *, label: str = "faulty", ttl: float | None = None, margin: float = 0.0
) -> tuple[AsyncSession, AsyncFaultyEngine]:
    """A session, and the power to break its engine. Its lease is short, as most who break it wait for its end.

    A busy machine may lose a short lease before the test does: no test may fail of that (see `until_queued`).
    """
    return _faulty(site.url, label, Terms(ttl or site.ttl, margin), runtime.BootClock())


def connect_brisk(site: Site, *, label: str = "faulty") -> tuple[AsyncSession, AsyncFaultyEngine]:
    """The same with a lease that lasts, renewed all the time: for what happens at a renewal, or at a second try."""
    return _faulty(site.url, label, Terms(LASTING), AsyncBriskClock())


def _faulty(url: str, label: str, terms: Terms, clock: runtime.Clock) -> tuple[AsyncSession, AsyncFaultyEngine]:
    address = parse_url(url)
    kind = registry.async_engine(address.scheme)

    def made() -> tuple[AsyncFaultyEngine, str]:
        return AsyncFaultyEngine(kind(address, clock=runtime.BootClock(), patience=PATIENCE)), label

    engine, _ = made()
    return patient(AsyncSession(engine, terms, label=label, clock=clock, remake=made)), engine


async def waiters(session: AsyncSession, name: str) -> list[str]:
    return [standing.claim.holder.label for standing in (await session.look(name)).waiters]


async def holders(session: AsyncSession, name: str) -> list[str]:
    return [standing.claim.holder.label for standing in (await session.look(name)).holders]


async def there(session: AsyncSession, name: str) -> tuple[list[str], list[str]]:
    """Who holds it, and who waits for it, at one look."""
    snapshot = await session.look(name)
    return (
        [standing.claim.holder.label for standing in snapshot.holders],
        [standing.claim.holder.label for standing in snapshot.waiters],
    )


async def stand_in_line(session: AsyncSession, ask: Ask) -> Request:
    """A place in the queue that is left when the test says so, with `session.engine.withdraw`."""
    request = (await session.keeper()).request((ask,))
    await session.engine.claim(request, wait=True)
    return request


async def until_waiting(session: AsyncSession, name: str, count: int) -> None:
    """Until that many wait for the name."""

    async def enough() -> bool:
        return len(await waiters(session, name)) == count

    await until(enough)


async def until_queued(session: AsyncSession, name: str, *attempts: AsyncAttempt[Any], besides: int = 0) -> None:
    """Until each of these waits for the name, or has ended; and so many others wait.

    It has ended if the lease before it was lost too early, since the machine was busy.
    """

    async def queued() -> bool:
        waiting = len(await waiters(session, name))
        return waiting == besides + sum(not attempt.ended.is_set() for attempt in attempts)

    await until(queued)


async def until_free(session: AsyncSession, name: str) -> None:
    async def free() -> bool:
        return not await holders(session, name)

    await until(free)
