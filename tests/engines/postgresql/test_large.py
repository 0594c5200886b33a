"""Requests of more names than fit into one message of the server's."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import fencepost
from fencepost.testing.condition import until
from fencepost.testing.postgresql import query

from .conftest import at

# No lease ends, and nothing times out, while a busy machine is at it.
PATIENCE = 60.0

# A message has fewer than 8000 bytes: nothing that grows with the names has a place in it.
NAMES = [f"name {number}" for number in range(500)]
WAITING = "SELECT 1 FROM fencepost.claim WHERE token IS NULL"


def test_a_holder_in_the_way_of_five_hundred_names_can_release(port: int) -> None:
    with (
        fencepost.connect(at(port), ttl=PATIENCE) as session,
        fencepost.connect(at(port), ttl=PATIENCE) as other,
    ):
        held = other.lock(NAMES[-1]).acquire()
        with ThreadPoolExecutor(1) as pool:
            taken = pool.submit(session.lock_all(NAMES).acquire, timeout=PATIENCE)
            until(lambda: query(port, WAITING), PATIENCE)
            held.release()
            taken.result().release()


async def test_a_task_in_the_way_of_five_hundred_names_can_release(port: int) -> None:
    async with (
        fencepost.connect_async(at(port), ttl=PATIENCE) as session,
        fencepost.connect_async(at(port), ttl=PATIENCE) as other,
    ):
        held = await other.lock(NAMES[-1]).acquire()
        taker = asyncio.create_task(session.lock_all(NAMES).acquire(timeout=PATIENCE))
        while not query(port, WAITING):
            await asyncio.sleep(0.01)
        await held.release()
        await (await taker).release()
