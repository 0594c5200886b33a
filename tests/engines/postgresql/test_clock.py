"""The database's clock, set back or asked for more than it can count."""

import pytest

import fencepost
from fencepost.testing.postgresql import query

from .conftest import at

# As it looks once the clock was set back by an hour.
SET_BACK = "UPDATE fencepost.meter SET busy_until = busy_until + interval '1 hour'"


def test_a_rate_goes_on_after_the_clock_was_set_back(url: str, port: int) -> None:
    with fencepost.connect(url, ttl=300) as session:
        limit = session.rate_limit("a", 2, per=1.0)
        assert limit.try_acquire(weight=2) == 0
        query(port, SET_BACK)
        assert 0 < limit.try_acquire() <= 1.0
        limit.acquire(timeout=10)


async def test_a_rate_of_an_asynchronous_session_goes_on_after_the_clock_was_set_back(url: str, port: int) -> None:
    async with fencepost.connect_async(url, ttl=300) as session:
        limit = session.rate_limit("a", 2, per=1.0)
        assert await limit.try_acquire(weight=2) == 0
        query(port, SET_BACK)
        assert 0 < await limit.try_acquire() <= 1.0
        await limit.acquire(timeout=10)


def test_what_was_taken_just_now_counts_in_full(port: int) -> None:
    with fencepost.connect(at(port), ttl=300) as session:
        limit = session.rate_limit("a", 3, per=3000.0)
        assert [limit.try_acquire() for _ in range(3)] == [0, 0, 0]
        assert 900 < limit.try_acquire() <= 1000
        assert 900 < limit.try_acquire() <= 1000


@pytest.mark.parametrize("ttl", [3e6, 1e8])
def test_a_lease_may_be_longer_than_the_server_can_count_for_a_connection(url: str, ttl: float) -> None:
    with fencepost.connect(url, ttl=ttl) as session:
        assert session.lock("a").acquire(timeout=60).held


async def test_a_lease_of_an_asynchronous_session_may_be_so_long(url: str) -> None:
    async with fencepost.connect_async(url, ttl=3e6) as session:
        assert (await session.lock("a").acquire(timeout=60)).held
