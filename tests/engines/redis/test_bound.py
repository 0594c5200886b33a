"""What is left behind: nothing that grows with the number of names."""

import asyncio
import os
import threading
from contextlib import closing

import pytest

import fencepost
from fencepost._runtime.threads import BootClock
from fencepost.contract.answer import Cell, Granted, Queued
from fencepost.core.claim import Ask, Claim, Request
from fencepost.core.holder import Holder
from fencepost.core.url import parse_url
from fencepost.engines.redis._sync.engine import Engine
from fencepost.testing.condition import until
from fencepost.testing.redis import command
from tests.support.renewal import renew

WATCHERS = "fencepost\0watch\0a"
# FENCEPOST_NAMES=1000000 takes about a minute.
NAMES = int(os.environ.get("FENCEPOST_NAMES", "2000"))


@pytest.mark.timeout(600)
async def test_any_number_of_names_acquired_and_released_leaves_a_handful_of_keys(port: int, url: str) -> None:
    async with fencepost.connect_async(url, ttl=60) as session:
        names = iter(range(NAMES))

        async def cycle() -> None:
            for name in names:
                async with session.lock(f"name {name}"):
                    pass

        await asyncio.gather(*(cycle() for _ in range(256)))
        # The mark and the lease.
        assert command(port, "DBSIZE") == 2


def test_what_a_dead_holder_leaves_is_gone_after_its_lease(port: int, url: str) -> None:
    engine = Engine(parse_url(url), clock=BootClock(), patience=60.0)
    dead = Holder("0" * 24, "dead")
    request = Request(dead, 1, tuple(Ask(f"left {number}") for number in range(50)))

    def hold() -> bool:
        engine.lease_open(dead, 0.5)
        return isinstance(engine.claim(request, wait=False), Granted)

    with fencepost.connect(url, ttl=60) as living:
        living.lock("a").acquire()
        # Once more, if the machine stood still between the two.
        until(hold)
        # The lock, its lease, the index and the mark.
        until(lambda: command(port, "DBSIZE") == 4)

        def cleared() -> bool:
            renew(living)
            return bool(command(port, "ZCARD", "fencepost\0names") == 1)

        # What the index has of the dead goes with a renewal of anybody.
        until(cleared)
        assert list(living.names()) == ["a"]
    engine.close()


def test_evictions_are_remembered_up_to_a_thousand(port: int, url: str) -> None:
    with fencepost.connect(url, ttl=60) as session:
        for _ in range(1003):
            session.lock("a").acquire(timeout=0)
            session.evict("a")
        assert command(port, "LLEN", "fencepost\0audit") == 1000
        assert len(session.look("a").evictions) == 1000


def test_who_watches_a_cell_again_and_again_is_remembered_once(port: int, url: str) -> None:
    with closing(Engine(parse_url(url), clock=BootClock(), patience=60.0)) as engine:
        # Beside another, who watches it for longer.
        command(port, "ZADD", WATCHERS, "+inf", "another:1")
        command(port, "PEXPIRE", WATCHERS, 300_000)
        for _ in range(20):
            engine.cells.watch("a", 0, 0.001)
        assert command(port, "ZCARD", WATCHERS) <= 2


def test_who_watched_a_cell_and_came_no_more_is_forgotten(port: int, url: str) -> None:
    with closing(Engine(parse_url(url), clock=BootClock(), patience=60.0)) as engine:
        command(port, "ZADD", WATCHERS, "1", "gone:1", "+inf", "another:1")
        command(port, "PEXPIRE", WATCHERS, 300_000)
        engine.cells.watch("a", 0, 0.001)
        assert command(port, "ZSCORE", WATCHERS, "gone:1") is None
        assert command(port, "ZSCORE", WATCHERS, "another:1") == b"inf"


def test_all_who_watch_a_cell_on_one_connection_are_told(url: str) -> None:
    with closing(Engine(parse_url(url), clock=BootClock(), patience=60.0)) as engine:
        seen: list[Cell] = []
        threads = [threading.Thread(target=lambda: seen.append(engine.cells.watch("a", 0, 60.0))) for _ in range(3)]
        for thread in threads:
            thread.start()
        until(lambda: len(engine.cells._watches) == 3)
        engine.cells.write("a", "value", 0)
        for thread in threads:
            thread.join(60)
        assert [cell.value for cell in seen] == ["value"] * 3


def test_a_queue_whose_only_waiter_stays_for_another_name_ends_with_its_lease(port: int, url: str) -> None:
    engine = Engine(parse_url(url), clock=BootClock(), patience=60.0)
    holder, waiter = Holder("0" * 24, "holder"), Holder("1" * 24, "waiter")
    for each in (holder, waiter):
        engine.lease_open(each, 120)
    tokens = [engine.claim(Request(holder, number, (Ask(name),)), wait=False) for number, name in enumerate("ab")]
    assert isinstance(tokens[0], Granted)
    both = engine.claim(Request(waiter, 1, (Ask("a"), Ask("b"))), wait=True)
    assert isinstance(both, Queued)
    assert engine.release(Claim(holder, 0, Ask("a"), tokens[0].tokens[0]))
    assert 0 < command(port, "PTTL", "fencepost\0queue\0a") <= 120_000
    engine.lease_close(holder)
    assert isinstance(engine.wait(both, 60.0), Granted)
    engine.close()
