"""Minorities of nodes stop, die and come back while many contend: nobody is ever inside with another."""

import asyncio
import random
import threading
import time
from contextlib import ExitStack

import pytest

import fencepost
from fencepost.testing.server import ServerProcess

from .conftest import StartNodes, url_of

pytestmark = [pytest.mark.slow, pytest.mark.storm]

SECONDS, MOST_SECONDS, ENOUGH = 3.0, 60.0, 10
# No machine stands still for that long: who believes to hold does.
LASTING = 20
# A server that is killed keeps what it has written, synced or not.
DURABLE = ("--appendonly", "yes", "--appendfsync", "everysec")


class Record:
    """Who was inside, in the order in which they came in."""

    def __init__(self) -> None:
        self.tokens: list[int] = []
        self.overlaps = 0
        self._began_at = time.monotonic()
        self._inside = threading.Lock()

    def enter(self, token: int) -> None:
        self.overlaps += not self._inside.acquire(blocking=False)
        self.tokens.append(token)

    def leave(self) -> None:
        self._inside.release()

    def is_over(self) -> bool:
        """After some seconds; on a machine that is busy with other things, after enough grants."""
        passed = time.monotonic() - self._began_at
        return passed > MOST_SECONDS or (passed > SECONDS and len(self.tokens) > ENOUGH)

    def check(self) -> None:
        print(f"{len(self.tokens)} grants")
        assert self.overlaps == 0
        assert self.tokens == sorted(set(self.tokens))
        assert len(self.tokens) > ENOUGH


def harm_in_turn(nodes: list[ServerProcess], record: Record, dice: random.Random) -> None:
    """Two at a time, never more, until it is over."""
    while not record.is_over():
        victims = dice.sample(nodes, 2)
        if dice.random() < 0.5:
            for node in victims:
                node.pause()
            time.sleep(dice.uniform(0.05, 0.4))
            for node in victims:
                node.resume()
        else:
            for node in victims:
                node.kill()
            time.sleep(dice.uniform(0.0, 0.2))
            for node in victims:
                node.start()
        time.sleep(dice.uniform(0.05, 0.3))


def test_threads_that_contend_while_minorities_of_nodes_come_and_go(
    start_nodes: StartNodes, dice: random.Random
) -> None:
    nodes = start_nodes(5, *DURABLE)
    record = Record()

    def contend(session: fencepost.Session) -> None:
        while not record.is_over():
            try:
                with session.lock("a", timeout=5) as grant:
                    if grant.held:
                        record.enter(grant.token)
                        time.sleep(0.002)
                        record.leave()
            except fencepost.FencepostError:
                pass

    with ExitStack() as stack:
        sessions = [stack.enter_context(fencepost.connect(url_of(nodes), ttl=LASTING)) for _ in range(4)]
        threads = [threading.Thread(target=contend, args=[session]) for session in sessions]
        for thread in threads:
            thread.start()
        # Here, because a server dies with the thread that started it.
        harm_in_turn(nodes, record, dice)
        for thread in threads:
            thread.join(60)
        assert not any(thread.is_alive() for thread in threads)
    record.check()


async def test_tasks_that_contend_while_minorities_of_nodes_come_and_go(
    start_nodes: StartNodes, dice: random.Random
) -> None:
    nodes = start_nodes(5, *DURABLE)
    record = Record()

    async def contend(session: fencepost.AsyncSession) -> None:
        while not record.is_over():
            try:
                async with session.lock("a", timeout=5) as grant:
                    if grant.held:
                        record.enter(grant.token)
                        try:
                            await asyncio.sleep(0.002)
                        finally:
                            record.leave()
            except fencepost.FencepostError:
                pass

    async def harm() -> None:
        while not record.is_over():
            victims = dice.sample(nodes, 2)
            for node in victims:
                node.pause()
            await asyncio.sleep(dice.uniform(0.05, 0.4))
            for node in victims:
                node.resume()
            await asyncio.sleep(dice.uniform(0.05, 0.3))

    async with asyncio.TaskGroup() as group:
        sessions = [fencepost.connect_async(url_of(nodes), ttl=LASTING) for _ in range(4)]
        workers = [group.create_task(contend(session)) for session in sessions for _ in range(2)]
        await harm()
        await asyncio.gather(*workers)
        for session in sessions:
            await session.close()
    record.check()
