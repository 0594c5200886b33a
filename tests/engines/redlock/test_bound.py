"""What is left behind: nothing that grows with the number of names."""

import asyncio

import fencepost
from fencepost.testing.condition import until
from fencepost.testing.redis import command, port_of
from fencepost.testing.server import ServerProcess

from .conftest import url_of


async def test_any_number_of_names_leaves_two_keys_at_each_node(
    nodes: list[ServerProcess],
) -> None:
    async with fencepost.connect_async(url_of(nodes), ttl=60) as session:
        names = iter(range(400))

        async def cycle() -> None:
            for name in names:
                async with session.lock(f"name {name}"):
                    pass

        await asyncio.gather(*(cycle() for _ in range(32)))

        # The mark and the lease. A minority may be late.
        def empty() -> bool:
            return all(command(port_of(node), "DBSIZE") == 2 for node in nodes)

        await asyncio.to_thread(until, empty)


def test_what_waiters_and_readers_leave_is_gone_with_them(nodes: list[ServerProcess]) -> None:
    with fencepost.connect(url_of(nodes), ttl=60) as first, fencepost.connect(url_of(nodes), ttl=60) as second:
        readers = [session.rwlock("a").read().acquire(timeout=0) for session in (first, second)]
        try:
            first.lock("a").acquire(timeout=0.05)
        except fencepost.AcquireTimeout:
            pass
        for reader in readers:
            reader.release()
        # The mark, and two leases.
        until(lambda: all(command(port_of(node), "DBSIZE") == 3 for node in nodes))
