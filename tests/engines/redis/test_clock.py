"""A server whose clock is set, forward or back, under holders and waiters."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import NamedTuple

import pytest

import fencepost
from fencepost import Lost
from fencepost.testing.condition import until
from fencepost.testing.faketime import WallClock
from fencepost.testing.redis import command, port_of, redis_server, valkey_binary
from tests.support.line import Line

HOUR = 3600


class Clocked(NamedTuple):
    port: int
    clock: WallClock


@pytest.fixture(scope="module", params=["redis", pytest.param("valkey", marks=pytest.mark.slow)])
def clocked(request: pytest.FixtureRequest) -> Iterator[Clocked]:
    """A server, and the clock that it goes by."""
    clock = WallClock()
    with ExitStack() as stack:
        binary = valkey_binary() if request.param == "valkey" else None
        yield Clocked(port_of(stack.enter_context(redis_server(binary=binary, env=clock.env))), clock)


@pytest.fixture
def clock(clocked: Clocked) -> WallClock:
    return clocked.clock


@pytest.fixture
def url(clocked: Clocked) -> str:
    """Its server is empty, and its clock is right."""
    port, clock = clocked

    def ahead() -> float:
        return int(command(port, "TIME")[0]) - time.time()

    # Else nothing would be tested here. A server looks at its clock now and then: what it says may be of another test.
    clock.set_by(HOUR)
    until(lambda: ahead() > HOUR / 2)
    clock.set_by(0)
    until(lambda: abs(ahead()) < HOUR / 2)
    command(port, "FLUSHALL")
    return f"redis://127.0.0.1:{port}"


def test_tokens_grow_on_when_the_clock_is_set_back(url: str, clock: WallClock) -> None:
    with fencepost.connect(url, ttl=60) as session:
        tokens = []
        for offset in (0, -HOUR, -24 * HOUR):
            clock.set_by(offset)
            with session.lock("a", timeout=0) as first:
                tokens.append(first.token)
            with session.lock("a", timeout=0) as second:
                tokens.append(second.token)
        assert tokens == sorted(set(tokens))


def test_who_comes_after_the_clock_was_set_back_waits_behind_who_came_before(url: str, clock: WallClock) -> None:
    with fencepost.connect(url, ttl=60) as session:
        held = session.lock("a").acquire(timeout=0)
        line = Line(session)
        for offset in (0, -HOUR, -HOUR, -2 * HOUR):
            clock.set_by(offset)
            line.join(session.lock("a", timeout=60))
        held.release()
        served = line.served()
        assert [each.number for each in served] == [0, 1, 2, 3]
        tokens = [held.token, *(each.token for each in served)]
        assert tokens == sorted(set(tokens))


def test_readers_that_come_after_the_clock_was_set_back_wait_behind_writers(url: str, clock: WallClock) -> None:
    with fencepost.connect(url, ttl=60) as session:
        held = session.lock("a").acquire(timeout=0)
        clock.set_by(-HOUR)
        line = Line(session)
        rwlock = session.rwlock("a", timeout=60)
        for lock in (rwlock.read(), rwlock.write(), rwlock.write(), rwlock.write(), rwlock.read()):
            line.join(lock)
        held.release()
        assert [each.number for each in line.served()] == [0, 1, 2, 3, 4]


def test_a_clock_set_forward_ends_leases_and_the_old_holder_is_told(url: str, clock: WallClock) -> None:
    with fencepost.connect(url, ttl=6) as first, fencepost.connect(url, ttl=60) as second:
        old = first.lock("a").acquire(timeout=60)
        clock.set_by(HOUR)
        new = second.lock("a").acquire(timeout=60)
        # Two hold it, for a moment. The tokens say who is who, and the older is told at its next renewal.
        assert new.token > old.token
        assert old.lost.wait(60)
        with pytest.raises(Lost):
            old.check()
