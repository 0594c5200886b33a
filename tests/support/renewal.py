"""The next renewal, now: what a keeper does at a third of its lease, without waiting for it."""

import asyncio

import fencepost
from fencepost.testing.condition import until


def renew(session: fencepost.Session) -> None:
    """A renewal that is answered, and what was left open is settled."""
    keeper = session.keeper()
    until(keeper._renew)
    keeper.settlement.settle_all()
    # Somebody else may be at it.
    until(lambda: not keeper.settlement._busy)


async def renew_async(session: fencepost.AsyncSession) -> None:
    keeper = await session.keeper()
    while not await keeper._renew():
        pass
    await keeper.settlement.settle_all()
    while keeper.settlement._busy:
        await asyncio.sleep(0.002)
