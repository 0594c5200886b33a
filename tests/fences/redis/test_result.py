"""How long Redis remembers who may keep a result."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import redis
import redis.asyncio

from fencepost.errors import Refused, Stale
from fencepost.fences.redis import RedisFence
from fencepost.fences.result import AsyncRedisResults, RedisResults
from fencepost.testing.redis import command, shared_server

DAY = 86_400.0


@pytest.fixture
def client() -> Iterator[Any]:
    command(shared_server(), "FLUSHALL")
    client = redis.Redis(port=shared_server())
    yield client
    client.close()


@pytest.fixture
def store(client: Any) -> RedisResults:
    return RedisResults(client)


@pytest.fixture
async def asynchronous(client: Any) -> AsyncIterator[AsyncRedisResults]:
    opened = redis.asyncio.Redis(port=shared_server())
    yield AsyncRedisResults(opened)
    await opened.aclose()


def lives(client: Any) -> list[float]:
    """How many days each key has left, the shortest first; -1: for ever."""
    return sorted(client.pttl(key) / 1000 / DAY if client.pttl(key) >= 0 else -1 for key in client.keys("*"))


def test_the_mark_of_a_result_that_never_expires_does_not_either(client: Any, store: RedisResults) -> None:
    store.claim("a", 5)
    store.keep("a", 5, "1", None)
    assert lives(client) == [-1, -1]
    assert store.claim("a", 6) == store.claim("a", 6) == "1"
    assert lives(client) == [-1, -1]


def test_a_claim_does_not_shorten_what_is_remembered(client: Any, store: RedisResults) -> None:
    store.claim("a", 5)
    store.keep("a", 5, "1", 30 * DAY)
    for token in (5, 6, 6):
        store.claim("a", token)
        result, mark = lives(client)
        assert 29 < result <= 30 < 36 < mark <= 37


def test_a_claim_is_remembered_for_a_week_and_a_later_one_for_another(client: Any, store: RedisResults) -> None:
    store.claim("a", 5)
    (mark,) = lives(client)
    assert 6 < mark <= 7
    for token in (5, 6):
        for key in client.keys("*"):
            client.pexpire(key, 1000 * 3600)
        store.claim("a", token)
        (mark,) = lives(client)
        assert 6 < mark <= 7


def test_a_result_that_expires_after_one_that_did_not_is_forgotten(client: Any, store: RedisResults) -> None:
    store.claim("a", 5)
    store.keep("a", 5, "1", None)
    store.claim("a", 6)
    store.keep("a", 6, "2", DAY)
    result, mark = lives(client)
    assert 0 < result <= 1 < 7 < mark <= 8


def test_a_result_lets_no_fence_forget_its_mark(client: Any, store: RedisResults) -> None:
    fence = RedisFence(client)
    fence.claim("a", 9)
    store.claim("a", 5)
    store.keep("a", 5, "1", DAY)
    assert lives(client)[0] == -1
    assert fence.highest("a") == 9


def test_a_mark_that_somebody_else_has_written_is_refused(client: Any, store: RedisResults) -> None:
    store.claim("a", 5)
    (key,) = client.keys("*")
    client.set(key, "not a number")
    with pytest.raises(Refused, match=r"mark of 'a' at 'fencepost:result-mark:\{a\}' is no token"):
        store.claim("a", 5)


async def test_the_asynchronous_store_does_the_same(client: Any, asynchronous: AsyncRedisResults) -> None:
    await asynchronous.claim("a", 5)
    await asynchronous.keep("a", 5, "1", None)
    assert await asynchronous.claim("a", 6) == await asynchronous.find("a") == "1"
    assert lives(client) == [-1, -1]
    with pytest.raises(Stale):
        await asynchronous.keep("a", 5, "2", None)
    await asynchronous.keep("a", 6, "3", 30 * DAY)
    await asynchronous.claim("a", 7)
    result, mark = lives(client)
    assert 29 < result <= 30 < 36 < mark <= 37
