"""Watching a cell on a real server that ends the watch."""

import asyncio
import threading

import pytest

from fencepost import Unavailable
from fencepost._runtime import aio, threads
from fencepost.core.url import parse_url
from fencepost.drivers.etcd import request
from fencepost.engines.etcd._async.engine import AsyncEngine
from fencepost.engines.etcd._sync.engine import Engine
from fencepost.testing.condition import until

LASTING = 600.0
# For what comes within a second, on a machine that is busy with something else.
PATIENCE = 60.0


async def test_a_task_whose_watch_is_ended_by_the_server_is_told(url: str) -> None:
    engine = AsyncEngine(parse_url(url), clock=aio.BootClock(), patience=20)
    watching = asyncio.create_task(engine.cells.watch("a", 0, LASTING))
    while not engine.cells._ear.is_open:
        await asyncio.sleep(0.01)
    # As after a compaction that a slow watch did not keep up with: the server says that it has ended.
    await engine.cells._ear.say(request.unwatch(0), engine._client.link)
    with pytest.raises(Unavailable, match="was ended"):
        await asyncio.wait_for(watching, PATIENCE)
    await engine.close()


def test_a_thread_whose_watch_is_ended_by_the_server_is_told(url: str) -> None:
    engine, told = Engine(parse_url(url), clock=threads.BootClock(), patience=20), list[Unavailable]()

    def watch() -> None:
        try:
            engine.cells.watch("a", 0, LASTING)
        except Unavailable as error:
            told.append(error)

    watching = threading.Thread(target=watch, daemon=True)
    watching.start()
    until(lambda: engine.cells._ear.is_open)
    engine.cells._ear.say(request.unwatch(0), engine._client.link)
    watching.join(PATIENCE)
    assert "was ended" in str(told)
    engine.close()
