"""Renewals of a session that has asked for much: they wait for nobody else's answer."""

import asyncio

import pytest

from fencepost.contract.answer import Renewal
from fencepost.core.claim import Ask
from fencepost.testing.postgresql import connect as sql_client
from fencepost.testing.postgresql import query
from tests.support.patience import connect_async

from .conftest import at

LATCH = "SELECT fencepost.latch(ARRAY['stuck'])"
IN_LINE = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
# As many as ask at the same time.
CROWD = 8


@pytest.mark.parametrize("then", ["waiting", "given up"])
async def test_a_renewal_does_not_wait_behind_those_who_ask_for_a_name_that_hangs(port: int, then: str) -> None:
    async with connect_async(at(port), ttl=300, patience=250) as session:
        held = await session.lock("a").acquire()
        keeper, engine = await session.keeper(), session.engine
        with sql_client(port) as stuck:
            stuck.execute("BEGIN")
            stuck.execute(LATCH)
            asking = [
                asyncio.ensure_future(engine.claim(keeper.request((Ask("stuck"),)), wait=False)) for _ in range(CROWD)
            ]
            while query(port, IN_LINE) != [(CROWD,)]:
                await asyncio.sleep(0.01)
            if then == "given up":
                # Their connections are free for others, and owe the answers.
                for each in asking:
                    each.cancel()
                await asyncio.wait(asking)
            try:
                renewing = engine.lease_renew(held.holder, 300, [held.claim])
                assert await asyncio.wait_for(renewing, 60) == Renewal(alive=True)
            finally:
                stuck.execute("COMMIT")
                await asyncio.gather(*asking, return_exceptions=True)
