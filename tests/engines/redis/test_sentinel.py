"""Sentinels that change their mind while the old master still answers as one."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from fencepost._runtime import aio as runtime
from fencepost._runtime import threads
from fencepost.contract.answer import Granted, Queued
from fencepost.core.claim import Ask, Claim, Request
from fencepost.core.holder import Holder
from fencepost.core.url import parse_url
from fencepost.engines.redis.sentinel._async.engine import AsyncEngine
from fencepost.engines.redis.sentinel._sync.engine import Engine
from fencepost.errors import Unavailable
from fencepost.testing.redis import command, port_of
from tests.support.redis.sentinel import Sentinel, url_of

from .conftest import StartServer

FIRST, SECOND = Holder("0" * 24, "first"), Holder("1" * 24, "second")


@pytest.fixture
def masters(start_server: StartServer) -> tuple[int, int]:
    """Two servers that are masters both, each for itself."""
    return port_of(start_server()), port_of(start_server())


@pytest.fixture
def sentinels(masters: tuple[int, int]) -> Iterator[list[Sentinel]]:
    with ExitStack() as stack:
        yield [stack.enter_context(Sentinel(masters[0])) for _ in range(3)]


def engine_at(sentinels: list[Sentinel]) -> Engine:
    return Engine(parse_url(url_of(*sentinels)), clock=threads.BootClock(), patience=60.0)


def listeners(port: int, engine: Engine) -> int:
    found: int = command(port, "PUBSUB", "NUMSUB", engine._ear.channel)[1]
    return found


def test_a_deposed_master_that_still_answers_is_left_at_the_next_renewal(
    masters: tuple[int, int], sentinels: list[Sentinel]
) -> None:
    engine = engine_at(sentinels)
    engine.lease_open(FIRST, 120)
    held = engine.claim(Request(FIRST, 1, (Ask("x"),)), wait=False)
    assert isinstance(held, Granted)
    claim = Claim(FIRST, 1, Ask("x"), held.tokens[0])
    assert engine.lease_renew(FIRST, 120, [claim]).alive
    # One that was cut off and says otherwise is outvoted.
    sentinels[0].master = masters[1]
    assert engine.lease_renew(FIRST, 120, [claim]).alive
    sentinels[1].master = masters[1]
    assert not engine.lease_renew(FIRST, 120, [claim]).alive
    engine.lease_open(SECOND, 120)
    assert isinstance(engine.claim(Request(SECOND, 1, (Ask("y"),)), wait=False), Granted)
    assert [command(port, "EXISTS", "y") for port in masters] == [0, 1]
    engine.close()


async def test_an_event_loop_leaves_a_deposed_master_too(masters: tuple[int, int], sentinels: list[Sentinel]) -> None:
    engine = AsyncEngine(parse_url(url_of(*sentinels)), clock=runtime.BootClock(), patience=60.0)
    await engine.lease_open(FIRST, 120)
    assert (await engine.lease_renew(FIRST, 120, [])).alive
    for sentinel in sentinels:
        sentinel.master = masters[1]
    assert not (await engine.lease_renew(FIRST, 120, [])).alive
    await engine.close()


def test_a_master_is_kept_while_no_sentinel_knows_one(masters: tuple[int, int], sentinels: list[Sentinel]) -> None:
    engine = engine_at(sentinels)
    engine.lease_open(FIRST, 120)
    for sentinel in sentinels:
        sentinel.master = None
    assert engine.lease_renew(FIRST, 120, []).alive
    engine.close()


@pytest.mark.parametrize("how", ["renewal", "failure"])
def test_the_ear_moves_with_the_voice(masters: tuple[int, int], sentinels: list[Sentinel], how: str) -> None:
    engine = engine_at(sentinels)
    engine.lease_open(FIRST, 120)
    engine.lease_open(SECOND, 120)
    assert isinstance(engine.claim(Request(FIRST, 1, (Ask("x"),)), wait=True), Granted)
    assert isinstance(engine.claim(Request(SECOND, 1, (Ask("x"),)), wait=True), Queued)
    assert [listeners(port, engine) for port in masters] == [1, 0]
    for sentinel in sentinels:
        sentinel.master = masters[1]
    if how == "renewal":
        assert not engine.lease_renew(FIRST, 120, []).alive
    else:
        command(masters[0], "REPLICAOF", "127.0.0.1", 1)
        with pytest.raises(Unavailable, match="READONLY"):
            engine.claim(Request(FIRST, 2, (Ask("y"),)), wait=False)
    third, fourth = Holder("2" * 24, "third"), Holder("3" * 24, "fourth")
    engine.lease_open(third, 120)
    engine.lease_open(fourth, 120)
    held = engine.claim(Request(third, 1, (Ask("z"),)), wait=True)
    assert isinstance(held, Granted)
    queued = engine.claim(Request(fourth, 1, (Ask("z"),)), wait=True)
    assert isinstance(queued, Queued)
    assert listeners(masters[1], engine) == 1
    engine.release(Claim(third, 1, Ask("z"), held.tokens[0]))
    # By the message: it would look by itself at the end of a lease.
    assert isinstance(engine.wait(queued, 60), Granted)
    engine.close()
