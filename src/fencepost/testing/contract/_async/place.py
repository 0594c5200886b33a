# Written by hand; the blocking twin under _sync is generated from it.
"""What the chapters do at a site: connect, with and without faults, and see who is there."""

from typing import Any

from fencepost._runtime import aio as runtime
from fencepost.contract import registry
from fencepost.core.lease import Terms
from fencepost.core.url import parse_url
from fencepost.primitives._async.connect import connect_async
from fencepost.primitives._async.session import AsyncSession
from fencepost.testing._async.fault import AsyncFaultyEngine
from fencepost.testing.contract._async.attempt import until
from fencepost.testing.contract.site import Site

# A lease that no test outlasts, nor a machine that stands still for a moment.
LASTING = 10.0


def connect_to(site: Site, *, label: str = "first", **options: Any) -> AsyncSession:
    """A session as any user gets it; with `ttl=site.ttl` where the end of its lease, or a renewal, is waited for."""
    return connect_async(site.url, ttl=options.pop("ttl", LASTING), holder=label, **options)


def connect_faulty(
    site: Site, *, label: str = "faulty", ttl: float | None = None, margin: float = 0.0
) -> tuple[AsyncSession, AsyncFaultyEngine]:
    """A session, and the power to break its engine. Its lease is short, as most who break it wait for its end."""
    address = parse_url(site.url)
    clock = runtime.BootClock()
    terms = Terms(ttl or site.ttl, margin)
    # The faults are not the server's: it may take its time on a busy machine, also under a short lease.
    patience = max(terms.span / 3, 1.0)
    engine = AsyncFaultyEngine(registry.async_engine(address.scheme)(address, clock=clock, patience=patience))
    return AsyncSession(engine, terms, label=label, clock=clock), engine


async def waiters(session: AsyncSession, name: str) -> list[str]:
    return [standing.claim.holder.label for standing in (await session.look(name)).waiters]


async def holders(session: AsyncSession, name: str) -> list[str]:
    return [standing.claim.holder.label for standing in (await session.look(name)).holders]


async def until_waiting(session: AsyncSession, name: str, count: int) -> None:
    """Until that many wait for the name."""

    async def enough() -> bool:
        return len(await waiters(session, name)) == count

    await until(enough)


async def until_free(session: AsyncSession, name: str, within: float = 20.0) -> None:
    async def free() -> bool:
        return not await holders(session, name)

    await until(free, within)
