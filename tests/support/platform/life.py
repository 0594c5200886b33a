"""A process on a platform that lacks calls: it acquires, waits, is handed over, releases and closes."""

import sys

from tests.support.platform.lack import remove

# One for each platform: they share a server.
NAME = f"on {sys.argv[1]}"
TTL = 60.0


def blocking(url: str) -> None:
    import threading

    import fencepost
    from fencepost.testing.condition import until

    with fencepost.connect(url, ttl=TTL) as first, fencepost.connect(url, ttl=TTL) as second:
        grant = first.lock(NAME).acquire(timeout=60)
        try:
            second.lock(NAME).acquire(timeout=0)
            raise AssertionError("two hold it")
        except fencepost.AcquireTimeout:
            pass
        handed: list[fencepost.Grant] = []
        waiter = threading.Thread(target=lambda: handed.append(second.lock(NAME).acquire(timeout=60)))
        waiter.start()
        until(lambda: first.look(NAME).waiters)
        grant.release()
        waiter.join()
        assert handed[0].token > grant.token
        handed[0].release()
        assert not first.look(NAME).holders


def asynchronous(url: str) -> None:
    import asyncio

    import fencepost

    async def live() -> None:
        async with fencepost.connect_async(url, ttl=TTL) as first, fencepost.connect_async(url, ttl=TTL) as second:
            grant = await first.lock(NAME).acquire(timeout=60)
            try:
                await second.lock(NAME).acquire(timeout=0)
                raise AssertionError("two hold it")
            except fencepost.AcquireTimeout:
                pass
            waiter = asyncio.create_task(second.lock(NAME).acquire(timeout=60))
            while not (await first.look(NAME)).waiters:
                await asyncio.sleep(0.005)
            await grant.release()
            handed = await waiter
            assert handed.token > grant.token
            await handed.release()
            assert not (await first.look(NAME)).holders

    asyncio.run(live())


if __name__ == "__main__":
    remove(sys.argv[1])
    blocking(sys.argv[2])
    asynchronous(sys.argv[2])
