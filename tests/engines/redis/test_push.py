"""A grant is told by a message on a connection of its own: it may overtake the answer, or never come."""

import asyncio
import threading
from contextlib import ExitStack

import pytest

import fencepost
from fencepost.engines.redis._async.engine import AsyncRedisEngine
from fencepost.engines.redis._sync.engine import RedisEngine
from fencepost.engines.redis.address import Address
from fencepost.engines.redis.key import slot_of
from fencepost.testing.condition import until
from fencepost.testing.port import free_port
from fencepost.testing.proxy import Proxy
from fencepost.testing.redis import command, join_cluster, port_of
from tests.support.engine import engine_as

from .conftest import StartServer

# A waiter that missed its message looks again at the end of a lease: far later than any test waits here.
LONG = 300
LATE = 0.3


async def test_a_message_that_overtakes_the_answer_is_not_lost(
    port: int, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with fencepost.connect_async(url, ttl=LONG) as holder:
        with Proxy(port) as proxy:
            async with fencepost.connect_async(f"redis://127.0.0.1:{proxy.port}", ttl=LONG) as waiter:

                async def directly() -> Address:
                    return Address(port=port)

                monkeypatch.setattr(engine_as(waiter, AsyncRedisEngine)._server, "listening_at", directly)
                # From now on it listens, and the next ask takes a place at once.
                held = await holder.lock("a").acquire()
                warm = asyncio.ensure_future(waiter.lock("a").acquire(timeout=60))
                await _until_waiting(holder, "a")
                await held.release()
                await (await warm).release()
                held = await holder.lock("a").acquire()
                proxy.delay(LATE)
                asking = asyncio.ensure_future(waiter.lock("a").acquire())
                await _until_waiting(holder, "a")
                await held.release()
                # At a time-out of its own it would ask once more, and find the grant.
                assert (await asyncio.wait_for(asking, 60)).token > held.token
                proxy.delay(0.0)


async def _until_waiting(session: fencepost.AsyncSession, name: str) -> None:
    while not (await session.look(name)).waiters:
        await asyncio.sleep(0.005)


def test_a_message_read_by_another_thread_before_the_answer_is_not_lost(
    port: int, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        fencepost.connect(url, ttl=LONG) as holder,
        Proxy(port) as proxy,
        fencepost.connect(f"redis://127.0.0.1:{proxy.port}", ttl=LONG) as waiter,
    ):
        monkeypatch.setattr(engine_as(waiter, RedisEngine)._server, "listening_at", lambda: Address(port=port))
        held, kept = holder.lock("a").acquire(), holder.lock("b").acquire()
        taken: list[fencepost.Grant] = []
        threads = [
            threading.Thread(target=lambda name=name: taken.append(waiter.lock(name).acquire(timeout=60)))
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


@pytest.mark.slow
def test_a_message_lost_between_the_servers_of_a_cluster_is_made_good_within_the_lease(
    start_server: StartServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ExitStack() as stack:
        ports, buses = [], []
        for _ in range(2):
            bus = free_port()
            buses.append(stack.enter_context(Proxy(bus)))
            cluster = ("--cluster-enabled", "yes", "--cluster-node-timeout", "60000", "--cluster-port", str(bus))
            announced = ("--cluster-announce-bus-port", str(buses[-1].port))
            ports.append(port_of(start_server(*cluster, *announced)))
        join_cluster(tuple(ports))
        name = next(str(number) for number in range(1000) if slot_of(str(number).encode()) < 8192)
        # What the first server, where the lock is, says to the second goes through the proxy.
        until(lambda: f"@{buses[1].port} master".encode() in command(ports[0], "CLUSTER", "NODES"))
        url = f"redis+cluster://127.0.0.1:{ports[0]}"
        holder = stack.enter_context(fencepost.connect(url, ttl=LONG))
        waiter = stack.enter_context(fencepost.connect(url, ttl=6))
        monkeypatch.setattr(engine_as(waiter, RedisEngine)._server, "listening_at", lambda: Address(port=ports[1]))
        held = holder.lock(name).acquire(timeout=60)
        taken: list[fencepost.Grant] = []
        waiting = threading.Thread(target=lambda: taken.append(waiter.lock(name).acquire()))
        waiting.start()
        until(lambda: holder.look(name).waiters)
        buses[1].hold()
        until(lambda: waiter.statistics().renewals > 0)
        renewals = waiter.statistics().renewals
        held.release()
        waiting.join(60)
        assert taken[0].token > held.token
        # Not by the message.
        assert waiter.statistics().renewals > renewals
        buses[1].heal()
