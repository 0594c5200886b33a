"""Many at once, and many of them interrupted: no answer reaches another than who asked, and nothing is left behind."""

import asyncio
import random
import threading

import pytest

import fencepost
from fencepost.testing.condition import until
from fencepost.testing.postgresql import query

from .conftest import at

pytestmark = pytest.mark.slow

LOCKED = "SELECT pid FROM pg_locks WHERE locktype = 'advisory'"


@pytest.mark.storm
async def test_a_storm_of_cancelled_acquires_leaves_nothing(port: int, scheme: str, dice: random.Random) -> None:
    url = at(port, scheme)
    async with fencepost.connect_async(url, ttl=60) as session, fencepost.connect_async(url, ttl=60) as other:

        async def acquire(session: fencepost.AsyncSession) -> None:
            async with session.lock(f"name {dice.randrange(3)}"):
                await asyncio.sleep(0)

        for _ in range(60):
            tasks = [asyncio.ensure_future(acquire(dice.choice((session, other)))) for _ in range(5)]
            await asyncio.sleep(dice.random() / 100)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        assert list(await other.names()) == []
        for name in ("name 0", "name 1", "name 2"):
            assert (await other.look(name)).holders == ()
            async with session.lock(name, timeout=60):
                pass
        # What a waiter had is gone with its connection, which the server ends when it has seen that nobody is there.
        await asyncio.to_thread(until, lambda: query(port, LOCKED) == [])


def test_threads_that_share_a_session_exclude_each_other_and_get_their_own_tokens(port: int, scheme: str) -> None:
    inside = most = 0
    tokens: list[int] = []
    with fencepost.connect(at(port, scheme), ttl=60) as session:

        def work(number: int) -> None:
            nonlocal inside, most
            for _ in range(15):
                # Each holds something else all the while, so that waiting must not stand in the way of giving back.
                with session.lock(f"own {number}"), session.lock("a") as grant:
                    inside += 1
                    most = max(most, inside)
                    tokens.append(grant.token)
                    inside -= 1

        threads = [threading.Thread(target=work, args=[number]) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert most == 1
        assert tokens == sorted(set(tokens))
        assert len(tokens) == 90
        assert list(session.names()) == []


async def test_readers_and_writers_of_many_sessions_never_meet(port: int, scheme: str) -> None:
    readers = writers = met = 0
    sessions = [fencepost.connect_async(at(port, scheme), ttl=60) for _ in range(3)]

    async def read(session: fencepost.AsyncSession) -> None:
        nonlocal readers, met
        for _ in range(10):
            async with session.rwlock("a").read():
                readers += 1
                met += writers
                await asyncio.sleep(0)
                readers -= 1

    async def write(session: fencepost.AsyncSession) -> None:
        nonlocal writers, met
        for _ in range(10):
            async with session.rwlock("a").write():
                writers += 1
                met += readers + writers - 1
                await asyncio.sleep(0)
                writers -= 1

    await asyncio.gather(*(read(session) for session in sessions), *(write(session) for session in sessions))
    for session in sessions:
        await session.close()
    assert met == 0
