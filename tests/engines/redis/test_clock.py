"""A server whose clock is set, forward or back, under holders and waiters."""

import pytest

import fencepost
from fencepost import Lost
from fencepost.testing.condition import until
from fencepost.testing.faketime import WallClock
from fencepost.testing.redis import command, port_of, valkey_binary
from tests.engines.line import Line

from .conftest import StartServer

HOUR = 3600


@pytest.fixture
def clock() -> WallClock:
    return WallClock()


@pytest.fixture(params=["redis", "valkey"])
def url(request: pytest.FixtureRequest, start_server: StartServer, clock: WallClock) -> str:
    binary = valkey_binary() if request.param == "valkey" else None
    port = port_of(start_server(binary=binary, env=clock.env))
    before = int(command(port, "TIME")[0])
    clock.set_by(HOUR)
    # Else nothing would be tested here.
    until(lambda: int(command(port, "TIME")[0]) >= before + HOUR)
    clock.set_by(0)
    until(lambda: int(command(port, "TIME")[0]) < before + HOUR)
    return f"redis://127.0.0.1:{port}"


def test_tokens_grow_on_when_the_clock_is_set_back(url: str, clock: WallClock) -> None:
    with fencepost.connect(url, ttl=20) as session:
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
            line.join(session.lock("a", timeout=30))
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
        rwlock = session.rwlock("a", timeout=30)
        for lock in (rwlock.read(), rwlock.write(), rwlock.write(), rwlock.write(), rwlock.read()):
            line.join(lock)
        held.release()
        assert [each.number for each in line.served()] == [0, 1, 2, 3, 4]


def test_a_clock_set_forward_ends_leases_and_the_old_holder_is_told(url: str, clock: WallClock) -> None:
    with fencepost.connect(url, ttl=2) as first, fencepost.connect(url, ttl=2) as second:
        old = first.lock("a").acquire(timeout=0)
        clock.set_by(HOUR)
        new = second.lock("a").acquire(timeout=10)
        # Two hold it, for a moment. The tokens say who is who, and the older is told at its next renewal.
        assert new.token > old.token
        assert old.lost.wait(10)
        with pytest.raises(Lost):
            old.check()
