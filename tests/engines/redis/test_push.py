"""A grant is told by a message on a connection of its own: it may overtake the answer, or never come."""

import asyncio
import threading

import pytest

import fencepost
from fencepost.engines.redis.address import Address
from fencepost.testing.proxy import Proxy
from fencepost.testing.redis import port_of, until
from fencepost.testing.server import ServerProcess

# A waiter that missed its message looks again at the end of a lease: far later than any test waits here.
LONG = 300
LATE = 0.3


async def test_a_message_that_overtakes_the_answer_is_not_lost(
    server: ServerProcess, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with fencepost.connect_async(url, ttl=LONG) as holder:
        with Proxy(port_of(server)) as proxy:
            async with fencepost.connect_async(f"redis://127.0.0.1:{proxy.port}", ttl=LONG) as waiter:

                async def directly() -> Address:
                    return Address(port=port_of(server))

                monkeypatch.setattr(waiter.engine._server, "listening_at", directly)
                # From now on it listens, and the next ask takes a place at once.
                held = await holder.lock("a").acquire()
                warm = asyncio.ensure_future(waiter.lock("a").acquire(timeout=20))
                await _until_waiting(holder, "a")
                await held.release()
                await (await warm).release()
                held = await holder.lock("a").acquire()
                proxy.delay(LATE)
                asking = asyncio.ensure_future(waiter.lock("a").acquire())
                await _until_waiting(holder, "a")
                await held.release()
                # At a time-out of its own it would ask once more, and find the grant.
                assert (await asyncio.wait_for(asking, 15)).token > held.token
                proxy.delay(0.0)


async def _until_waiting(session: fencepost.AsyncSession, name: str) -> None:
    while not (await session.look(name)).waiters:
        await asyncio.sleep(0.005)


def test_a_message_read_by_another_thread_before_the_answer_is_not_lost(
    server: ServerProcess, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        fencepost.connect(url, ttl=LONG) as holder,
        Proxy(port_of(server)) as proxy,
        fencepost.connect(f"redis://127.0.0.1:{proxy.port}", ttl=LONG) as waiter,
    ):
        monkeypatch.setattr(waiter.engine._server, "listening_at", lambda: Address(port=port_of(server)))
        held, kept = holder.lock("a").acquire(), holder.lock("b").acquire()
        taken: list[fencepost.Grant] = []
        threads = [
            threading.Thread(target=lambda name=name: taken.append(waiter.lock(name).acquire(timeout=20)))
            for name in "ba"
        ]
        # The first of them reads for both.
        threads[0].start()
        until(lambda: holder.look("b").waiters)
        proxy.delay(LATE)
        threads[1].start()
        until(lambda: holder.look("a").waiters)
        held.release()
        threads[1].join()
        assert taken[0].token > held.token
        proxy.delay(0.0)
        kept.release()
        threads[0].join()
