"""The fence inside Redis, with each client it takes."""

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import redis
import redis.asyncio
import valkey
import valkey.asyncio
from redis.crc import key_slot

from fencepost.errors import Refused, Stale
from fencepost.fences.redis import AsyncRedisFence, RedisFence
from fencepost.fences.redis.source import MOST_WORDS, mark_key
from fencepost.fences.registry import AsyncRegistry, Registry
from fencepost.fences.result import AsyncRedisResults, RedisResults
from fencepost.fences.result.source import keys_of
from fencepost.testing.redis import command, shared_cluster, shared_server

LARGE = 2**63 - 1


@pytest.fixture
def port() -> int:
    port = shared_server()
    command(port, "FLUSHALL")
    return port


@pytest.fixture(params=["redis-py", "valkey-py", "decoding"])
def client(request: pytest.FixtureRequest, port: int) -> Iterator[Any]:
    kinds: dict[str, Any] = {
        "redis-py": lambda: redis.Redis(port=port),
        "valkey-py": lambda: valkey.Valkey(port=port),
        "decoding": lambda: redis.Redis(port=port, decode_responses=True),
    }
    client = kinds[request.param]()
    yield client
    client.close()


def text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def test_a_lower_token_is_refused_an_equal_one_passes(client: Any) -> None:
    fence = RedisFence(client)
    assert fence.highest("a") == 0
    fence.set("a", 7, "total", 100)
    fence.set("a", 7, "total", 101)
    with pytest.raises(Stale) as refused:
        fence.set("a", 6, "total", 0)
    assert (refused.value.name, refused.value.token, refused.value.highest) == ("a", 6, 7)
    assert text(fence.get("a", 7, "total")) == "101"
    with pytest.raises(Stale):
        fence.get("a", 6, "total")
    assert fence.highest("a") == 7


def test_a_claim_shuts_out_those_before_it_and_touches_nothing(client: Any) -> None:
    fence = RedisFence(client)
    fence.set("a", 1, "total", 5)
    fence.claim("a", 2)
    with pytest.raises(Stale):
        fence.set("a", 1, "total", 6)
    assert text(fence.get("a", 2, "total")) == "5"


def test_a_mark_never_expires(client: Any) -> None:
    fence = RedisFence(client)
    fence.claim("a", 1)
    fence.set("b", 1, "total", 5, expires_in=30)
    marks = [key for key in client.keys("*") if text(key) != "total"]
    assert len(marks) == 2
    assert [client.pttl(mark) for mark in marks] == [-1, -1]


def test_tokens_of_different_names_are_never_compared(client: Any) -> None:
    fence = RedisFence(client)
    for token, name in enumerate(("x", "{x}", "}x", "x/", "x{", "xy"), start=-9):
        fence.claim(name, -token)
        assert fence.highest(name) == -token


def test_the_largest_tokens_are_compared_exactly(client: Any) -> None:
    fence = RedisFence(client)
    fence.claim("a", LARGE)
    with pytest.raises(Stale):
        fence.claim("a", LARGE - 1)
    fence.claim("b", 9)
    fence.claim("b", 10)
    with pytest.raises(Stale):
        fence.claim("b", 9)


def test_hashes_are_guarded(client: Any) -> None:
    fence = RedisFence(client)
    fence.hset("a", 3, "order", {"total": 5, "state": "new"})
    assert text(fence.hget("a", 3, "order", "total")) == "5"
    assert {text(key): text(value) for key, value in fence.hgetall("a", 3, "order").items()} == {
        "total": "5",
        "state": "new",
    }
    assert fence.hdel("a", 3, "order", "state", "nothing") == 1
    with pytest.raises(Stale):
        fence.hset("a", 2, "order", {"total": 0})
    with pytest.raises(Stale):
        fence.hdel("a", 2, "order", "total")
    assert fence.delete("a", 4, "order") == 1


def test_a_value_may_expire(client: Any) -> None:
    RedisFence(client).set("a", 1, "total", 5, expires_in=30)
    assert 20_000 < client.pttl("total") <= 30_000


def test_the_callers_own_script_runs_behind_the_check(client: Any) -> None:
    fence = RedisFence(client)
    add = fence.script("return redis.call('INCRBY', KEYS[1], ARGV[1]) + #KEYS + #ARGV")
    assert add("a", 5, keys=["total"], args=[10]) == 12
    with pytest.raises(Stale):
        add("a", 4, keys=["total"], args=[10])
    assert text(client.get("total")) == "10"
    flagged = fence.script("#!lua flags=allow-oom\nreturn redis.call('GET', KEYS[1])")
    assert text(flagged("a", 5, keys=["total"])) == "10"


def test_a_script_that_fails_raises_its_own_error_and_the_claim_stands(client: Any) -> None:
    fence = RedisFence(client)
    broken = fence.script("return redis.call('HGET', KEYS[1], 'field')")
    client.set("total", 1)
    with pytest.raises(Exception, match="WRONGTYPE"):
        broken("a", 8, keys=["total"])
    assert fence.highest("a") == 8


def test_the_writes_of_a_block_land_together_at_its_end(client: Any) -> None:
    fence = RedisFence(client)
    fence.set("a", 1, "total", 5)
    with fence.guard("a", 2) as block:
        total = int(block.get("total"))
        block.set("total", total + 1)
        block.hset("order", {"total": total + 1})
        block.delete("nothing")
        assert text(client.get("total")) == "5"
    assert text(client.get("total")) == "6"
    assert text(client.hget("order", "total")) == "6"


def test_a_block_that_is_overtaken_writes_nothing(client: Any) -> None:
    fence = RedisFence(client)
    with pytest.raises(Stale), fence.guard("a", 2) as block:
        block.set("total", 1)
        fence.claim("a", 3)
    assert client.get("total") is None


def test_a_block_that_is_overtaken_reads_no_more(client: Any) -> None:
    fence = RedisFence(client)
    with fence.guard("a", 2) as block:
        reads = (
            lambda: block.get("total"),
            lambda: block.hget("order", "total"),
            lambda: block.hgetall("order"),
        )
        assert [read() for read in reads] == [None, None, {}]
        fence.claim("a", 3)
        for read in reads:
            with pytest.raises(Stale):
                read()


def test_a_write_of_a_block_that_fails_is_told_and_none_behind_it_lands(client: Any) -> None:
    fence = RedisFence(client)
    client.set("text", "no hash")
    with pytest.raises(Exception, match="WRONGTYPE"), fence.guard("a", 2) as block:
        block.set("before", 1)
        block.hset("text", {"total": 1})
        block.set("behind", 1)
    assert (client.exists("before"), client.exists("behind")) == (1, 0)
    assert text(client.get("text")) == "no hash"
    with pytest.raises(Exception, match="WRONGTYPE"):
        fence.run("a", 2, ["text", "behind"], [("HGET", "text", "total"), ("SET", "behind", "1")])
    assert client.exists("behind") == 0


def test_a_block_that_raises_writes_nothing_and_its_claim_stands(client: Any) -> None:
    fence = RedisFence(client)
    with pytest.raises(ZeroDivisionError), fence.guard("a", 2) as block:
        block.set("total", 1)
        raise ZeroDivisionError
    assert client.get("total") is None
    assert fence.highest("a") == 2


def test_scripts_that_were_flushed_are_loaded_again(client: Any) -> None:
    fence = RedisFence(client)
    fence.claim("a", 1)
    client.script_flush()
    fence.set("a", 1, "total", 1)


@pytest.mark.unit
def test_what_is_no_client_is_refused() -> None:
    with pytest.raises(TypeError, match="redis-py or valkey-py"):
        RedisFence("redis://localhost")


BRACES = ["a}b", "}", "}}", "a{b", "{", "{}", "{}x", "x{}y{z}", "{a}b", "a{b}c{d}", "a{{b}}", "é}", "}{a}"]
# Neither can be a tag, so both have that of their slot, which is the same.
OF_ONE_SLOT = ["a}", "1380}"]
NAMES = ["a", "orders/42", *BRACES, *OF_ONE_SLOT]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_in_a_cluster_a_mark_is_in_the_slot_of_its_name(name: str) -> None:
    client = redis.RedisCluster(host="127.0.0.1", port=shared_cluster()[0])
    slots = {client.cluster_keyslot(key) for key in (name, mark_key(name), *keys_of(name))}
    assert len(slots) == 1
    fence = RedisFence(client)
    fence.set(name, 7, name, 1)
    with pytest.raises(Stale):
        fence.set(name, 6, name, 2)
    client.flushall(target_nodes="primaries")
    client.close()


@pytest.mark.unit
def test_every_name_has_a_mark_of_its_own() -> None:
    assert len({key_slot(name.encode()) for name in OF_ONE_SLOT}) == 1
    assert len({mark_key(name) for name in NAMES}) == len(NAMES)


@pytest.mark.slow
def test_a_cluster_guards_keys_in_the_slot_of_the_name() -> None:
    client = redis.RedisCluster(host="127.0.0.1", port=shared_cluster()[0])
    fence = RedisFence(client)
    for name, key in (("orders/42", "{orders/42}:total"), ("{order}1", "{order}:total"), ("plain", "plain")):
        fence.set(name, 5, key, 1)
        with pytest.raises(Stale):
            fence.set(name, 4, key, 0)
        assert fence.highest(name) == 5
    client.close()


def test_of_many_that_race_the_mark_keeps_the_highest(port: int) -> None:
    def claim(token: int) -> None:
        client = redis.Redis(port=port)
        try:
            RedisFence(client).set("a", token, "total", token)
        except Stale:
            pass
        client.close()

    threads = [threading.Thread(target=claim, args=[token]) for token in range(1, 40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    client = redis.Redis(port=port)
    assert RedisFence(client).highest("a") == 39
    assert client.get("total") == b"39"
    client.close()


async def test_the_asynchronous_fence_keeps_the_same_law(port: int) -> None:
    client = redis.asyncio.Redis(port=port)
    fence = AsyncRedisFence(client)
    await fence.set("a", 7, "total", 100)
    with pytest.raises(Stale):
        await fence.get("a", 6, "total")
    add = fence.script("return redis.call('INCRBY', KEYS[1], ARGV[1])")
    totals = await asyncio.gather(*(add("a", 7, keys=["total"], args=[1]) for _ in range(3)))
    assert sorted(totals) == [101, 102, 103]
    async with fence.guard("a", 8) as block:
        block.set("total", int(await block.get("total")) * 2)
    assert await fence.get("a", 8, "total") == b"206"
    assert await fence.highest("a") == 8
    await client.aclose()


def test_a_command_that_is_too_long_for_a_script_is_refused_before_anything_happens(port: int) -> None:
    with redis.Redis(port=port) as client:
        fence = RedisFence(client)
        most = {f"field {number}": number for number in range((MOST_WORDS - 2) // 2)}
        fence.hset("a", 7, "longest", most)
        assert client.hlen("longest") == len(most)
        for attempt in (
            lambda: fence.hset("a", 8, "longer", {**most, "one": 1}),
            lambda: fence.delete("a", 8, *most, *most, *most),
            lambda: fence.run("a", 8, ["first"], [("SET", "first", "1"), ("DEL", *most, *most, *most)]),
        ):
            with pytest.raises(ValueError, match="has at most 7900 words"):
                attempt()
        with pytest.raises(ValueError, match="split it"), fence.guard("a", 8) as block:
            block.set("first", 1)
            block.hset("longer", {**most, "one": 1})
        assert client.exists("longer", "first") == 0
        with fence.guard("a", 8) as block:
            block.hset("split", most)
            block.hset("split", {"one": 1})
        assert client.hlen("split") == len(most) + 1


STRANGE = ["", "x", "-1", " 4", "05", "4 x", "1.5", "abc and more", "not a number, and longer than any token", "5000 x"]


@pytest.mark.parametrize("mark", [*STRANGE, "9" * 19, "9" * 20])
def test_a_mark_that_somebody_else_has_written_is_refused_and_left_alone(port: int, client: Any, mark: str) -> None:
    fence = RedisFence(client)
    command(port, "SET", mark_key("n"), mark)
    for call in (
        lambda: fence.highest("n"),
        lambda: fence.claim("n", 5),
        lambda: fence.claim("n", LARGE),
        lambda: fence.set("n", LARGE, "total", "0"),
        lambda: fence.script("return 1")("n", 5),
    ):
        with pytest.raises(Refused, match=r"the mark of 'n' at 'fencepost:fence:\{n\}' is no token"):
            call()
    assert text(client.get(mark_key("n"))) == mark
    assert client.get("total") is None


def test_a_pipeline_is_no_client(port: int) -> None:
    # It would say yes to every token, and ask the server later, or never.
    for client in (redis.Redis(port=port), valkey.Valkey(port=port)):
        with client.pipeline() as pipeline, pytest.raises(TypeError, match="not its pipeline"):
            RedisFence(pipeline)
    with pytest.raises(TypeError, match="not its pipeline"):
        AsyncRedisFence(redis.asyncio.Redis(port=port).pipeline())


def sentinel(library: Any) -> Any:
    return library.Sentinel([("h", 1)]).master_for("shop")


CLIENTS: dict[str, Any] = {
    "redis-py": (redis.Redis, redis.asyncio.Redis),
    "valkey-py": (valkey.Valkey, valkey.asyncio.Valkey),
    "cluster of redis-py": (redis.RedisCluster, redis.asyncio.RedisCluster),
    "cluster of valkey-py": (valkey.ValkeyCluster, valkey.asyncio.ValkeyCluster),
    "master of a sentinel": (
        lambda: sentinel(redis),
        lambda: sentinel(redis.asyncio),
    ),
}
TAKERS: list[Any] = [
    (RedisFence, AsyncRedisFence),
    (RedisResults, AsyncRedisResults),
    (Registry, AsyncRegistry),
]


@pytest.mark.unit
@pytest.mark.parametrize("kind", CLIENTS)
@pytest.mark.parametrize("takers", TAKERS, ids=lambda pair: pair[0].__name__)
def test_a_client_of_the_other_flavour_is_refused_with_the_class_that_takes_it(takers: Any, kind: str) -> None:
    """What it is asked would never be sent, or its answer never looked at: every token would pass."""
    for taker, other, make in zip(takers, reversed(takers), reversed(CLIENTS[kind]), strict=True):
        client: Any = bare(make) if isinstance(make, type) else make()
        with pytest.raises(TypeError, match=f"is for {other.__name__}, not {taker.__name__}$"):
            taker(client)


@pytest.mark.unit
def test_a_client_whose_sending_is_traced_keeps_its_flavour() -> None:
    client: Any = redis.asyncio.Redis()
    send = client.execute_command
    client.execute_command = lambda *words, **options: send(*words, **options)
    with pytest.raises(TypeError, match="is for AsyncRedisFence"):
        RedisFence(client)
    AsyncRedisFence(client)


def bare(kind: Any) -> Any:
    """Not connected: a client of a cluster asks for its nodes when it is made."""
    return kind.__new__(kind)
