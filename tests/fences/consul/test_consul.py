"""The fence inside Consul, on a real agent."""

import asyncio
import socket
import threading

import pytest

from fencepost.errors import Refused, Stale, Unavailable
from fencepost.fences.consul import AsyncConsulFence, ConsulFence
from fencepost.testing.consul import Agent, shared_agent
from fencepost.testing.port import free_port
from fencepost.testing.proxy import Proxy
from tests.support.fences.process import started
from tests.support.fences.worker import claim_in_a_forked_child
from tests.support.hostile import Hostile

LARGE = 2**63 - 1
# For what comes within a second, on a machine that is busy with something else.
PATIENCE = 60.0


@pytest.fixture
def agent() -> Agent:
    agent = shared_agent()
    agent.empty()
    return agent


@pytest.fixture
def url(agent: Agent) -> str:
    return f"http://127.0.0.1:{agent.port}"


def test_a_lower_token_is_refused_an_equal_one_passes(url: str) -> None:
    fence = ConsulFence(url)
    assert fence.highest("a") == 0
    fence.set("a", 7, "total", "100")
    fence.set("a", 7, "total", "101")
    with pytest.raises(Stale) as refused:
        fence.set("a", 6, "total", "0")
    assert (refused.value.name, refused.value.token, refused.value.highest) == ("a", 6, 7)
    assert fence.get("a", 7, "total") == b"101"
    with pytest.raises(Stale):
        fence.get("a", 6, "total")
    assert fence.highest("a") == 7


def test_another_fence_object_sees_the_same_mark_also_where_it_had_seen_a_lower_one(url: str) -> None:
    one, other = ConsulFence(url), ConsulFence(url)
    one.set("a", 1, "total", "1")
    other.claim("a", LARGE)
    with pytest.raises(Stale):
        one.set("a", 1, "total", "2")
    with pytest.raises(Stale):
        one.get("a", LARGE - 1, "total")
    assert other.get("a", LARGE, "total") == b"1"


def test_what_is_not_there_is_none_and_what_is_deleted_is_gone(url: str) -> None:
    fence = ConsulFence(url)
    assert fence.get("a", 1, "total") is None
    fence.set("a", 1, "total", b"\0\xff")
    assert fence.get("a", 1, "total") == b"\0\xff"
    fence.delete("a", 1, "total")
    assert fence.get("a", 1, "total") is None


def test_the_writes_of_a_block_land_together_or_not_at_all(agent: Agent, url: str) -> None:
    fence, newer = ConsulFence(url), ConsulFence(url)
    with fence.guard("a", 1) as guarded:
        guarded.set("one", "1")
        guarded.set("two", "2")
        assert guarded.get("one") is None
    assert fence.get("a", 1, "one") == b"1"
    with pytest.raises(Stale), fence.guard("a", 1) as guarded:
        guarded.set("one", "late")
        newer.claim("a", 2)
    with pytest.raises(ZeroDivisionError), newer.guard("a", 3) as guarded:
        guarded.set("one", "interrupted")
        raise ZeroDivisionError
    assert newer.get("a", 3, "one") == b"1"
    assert newer.highest("a") == 3


def test_of_many_that_show_tokens_at_once_none_lowers_the_mark(url: str) -> None:
    tokens = list(range(1, 25))

    def show(token: int) -> None:
        try:
            ConsulFence(url).set("a", token, "last", str(token))
        except Stale:
            pass

    threads = [threading.Thread(target=show, args=[token]) for token in tokens]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    fence = ConsulFence(url)
    assert fence.highest("a") == max(tokens)
    assert fence.get("a", max(tokens), "last") == str(max(tokens)).encode()


def test_any_text_is_a_name_and_names_do_not_meet(url: str) -> None:
    fence = ConsulFence(url, prefix="shop/")
    for number, name in enumerate(("a", "a/", "a//b", "ключ", "%61", "a\nb", "x" * 1024), start=1):
        assert fence.highest(name) == 0
        fence.claim(name, number)
        assert fence.highest(name) == number


def test_fences_with_different_prefixes_do_not_meet(agent: Agent, url: str) -> None:
    one, other = ConsulFence(url, prefix="shop/"), ConsulFence(url, prefix="bank/")
    one.claim("a", 7)
    other.claim("a", 6)
    assert (one.highest("a"), other.highest("a"), ConsulFence(url).highest("a")) == (7, 6, 0)
    assert agent.keys() == ["bank/.fencepost/fence/a", "shop/.fencepost/fence/a"]


def test_the_asynchronous_fence_is_the_same(url: str) -> None:
    async def scenario() -> None:
        fence = AsyncConsulFence(url)
        async with fence.guard("a", 2) as guarded:
            guarded.set("total", "5")
        assert await fence.get("a", 2, "total") == b"5"
        with pytest.raises(Stale):
            await fence.delete("a", 1, "total")
        assert await fence.highest("a") == 2

    asyncio.run(scenario())


def test_a_write_whose_answer_is_lost_is_unavailable_and_may_be_asked_again(agent: Agent) -> None:
    with Proxy(agent.port) as proxy:
        address = f"http://127.0.0.1:{proxy.port}"
        fence, hasty = ConsulFence(address, timeout=PATIENCE), ConsulFence(address, timeout=0.2)
        fence.set("a", 1, "total", "1")
        proxy.drop_replies()
        with pytest.raises(Unavailable):
            hasty.set("a", 1, "total", "2")
        proxy.heal()
        fence.set("a", 1, "total", "2")
        assert fence.get("a", 1, "total") == b"2"


def test_a_write_whose_connection_ends_before_the_answer_is_not_sent_again(agent: Agent) -> None:
    hang_up = threading.Event()

    def relay(call: socket.socket, over: threading.Event) -> None:
        with socket.create_connection(("127.0.0.1", agent.port)) as line:
            while asked := call.recv(65_536):
                line.sendall(asked)
                answer = line.recv(65_536)
                if hang_up.is_set():
                    hang_up.clear()
                    return
                call.sendall(answer)

    with Hostile(relay) as server:
        fence = ConsulFence(f"http://127.0.0.1:{server.port}", timeout=PATIENCE)
        fence.claim("a", 1)
        hang_up.set()
        # Sent again, it would be refused, and was done.
        with pytest.raises(Unavailable):
            fence.run("a", 1, [{"Verb": "cas", "Key": "total", "Index": 0, "Value": "MQ=="}])
        assert fence.get("a", 1, "total") == b"1"


def test_what_is_wrong_is_said(url: str) -> None:
    with pytest.raises(ValueError, match="write http://"):
        ConsulFence("consul.example:8500")
    with pytest.raises(Unavailable, match="did not answer"):
        ConsulFence(f"http://127.0.0.1:{free_port()}").claim("a", 1)
    with pytest.raises(Refused, match="answered"):
        ConsulFence(url).run("a", 1, [{"Verb": "set", "Key": "b", "Value": "x" * 600_000}])
    with pytest.raises(ValueError, match="refused operation 1"):
        ConsulFence(url).run("a", 1, [{"Verb": "check-not-exists", "Key": ".fencepost/fence/a"}])


def test_whoever_is_overtaken_hears_that_first_and_not_what_else_is_wrong(url: str) -> None:
    one, newer = ConsulFence(url), ConsulFence(url)
    one.claim("a", 1)
    newer.claim("a", 2)
    # Where it wrote meanwhile, the index is another.
    with pytest.raises(Stale):
        one.run("a", 1, [{"Verb": "check-index", "Key": "nowhere", "Index": 1}])
    with pytest.raises(ValueError, match="operation 1"):
        newer.run("a", 2, [{"Verb": "check-index", "Key": "nowhere", "Index": 1}])


@pytest.mark.parametrize("mark", ["", "x", "-5", " 4", "9" * 19, "9" * 20])
def test_a_mark_that_is_no_token_is_refused_and_left_alone(agent: Agent, url: str, mark: str) -> None:
    fence = ConsulFence(url)
    fence.set("other", 1, ".fencepost/fence/a", mark)
    for call in (lambda: fence.highest("a"), lambda: fence.claim("a", 5), lambda: fence.set("a", LARGE, "total", "0")):
        with pytest.raises(Refused, match="is no mark"):
            call()
    assert fence.get("other", 1, ".fencepost/fence/a") == mark.encode()
    assert fence.get("other", 1, "total") is None


def test_a_child_of_a_fork_claims_with_its_parents_fence_and_leaves_it_alone(url: str) -> None:
    with started(claim_in_a_forked_child, ConsulFence, url) as (_, pipe):
        assert (pipe.recv(), pipe.recv()) == (2, 3)
