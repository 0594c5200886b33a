"""The fence inside etcd."""

import threading
import time
from collections.abc import AsyncIterator, Iterator

import pytest

import fencepost
from fencepost.drivers.etcd import request
from fencepost.drivers.etcd.answer import Outcome
from fencepost.errors import Refused, Stale, Unavailable
from fencepost.fences.etcd import AsyncEtcdFence, EtcdFence
from fencepost.testing.etcd import client, empty, shared_server
from tests.support.fences.process import started
from tests.support.fences.worker import claim_in_a_forked_child

LARGE = 2**63 - 1


@pytest.fixture
def url() -> str:
    port = shared_server()
    empty(port)
    return f"etcd://127.0.0.1:{port}"


@pytest.fixture
def fence(url: str) -> Iterator[EtcdFence]:
    with EtcdFence(url) as fence:
        yield fence


@pytest.fixture
async def async_fence(url: str) -> AsyncIterator[AsyncEtcdFence]:
    async with AsyncEtcdFence(url) as fence:
        yield fence


def test_a_lower_token_is_refused_an_equal_one_passes(fence: EtcdFence) -> None:
    assert fence.highest("a") == 0
    fence.put("a", 7, "total", "100")
    fence.put("a", 7, "total", b"101")
    with pytest.raises(Stale) as refused:
        fence.put("a", 6, "total", "0")
    assert (refused.value.name, refused.value.token, refused.value.highest) == ("a", 6, 7)
    assert fence.get("a", 7, "total") == b"101"
    with pytest.raises(Stale):
        fence.get("a", 6, "total")
    with pytest.raises(Stale):
        fence.delete("a", 6, "total")
    assert fence.highest("a") == 7


def test_a_claim_shuts_out_those_before_it_and_touches_nothing(fence: EtcdFence) -> None:
    fence.put("a", 1, "total", "5")
    fence.claim("a", 2)
    with pytest.raises(Stale):
        fence.put("a", 1, "total", "6")
    assert fence.get("a", 2, "total") == b"5"


def test_reading_claims_as_well(fence: EtcdFence) -> None:
    fence.put("a", 1, "total", "5")
    assert fence.get("a", 3, "total") == b"5"
    with pytest.raises(Stale):
        fence.put("a", 2, "total", "6")


def test_tokens_of_different_names_are_never_compared(fence: EtcdFence) -> None:
    for token, name in enumerate(("x", "x/", "x/y", "y", "ключ"), start=-9):
        fence.claim(name, -token)
        assert fence.highest(name) == -token


def test_tokens_are_compared_as_numbers(fence: EtcdFence) -> None:
    fence.claim("a", LARGE)
    with pytest.raises(Stale):
        fence.claim("a", LARGE - 1)
    fence.claim("b", 9)
    fence.claim("b", 10)
    with pytest.raises(Stale):
        fence.claim("b", 9)


def test_several_keys_are_read_and_deleted_in_one_step(fence: EtcdFence) -> None:
    for key in ("order/1", "order/2", "other"):
        fence.put("a", 1, key, key)
    assert fence.get_all("a", 1, "order/") == {"order/1": b"order/1", "order/2": b"order/2"}
    assert fence.delete("a", 1, "order/1", "missing", "other") == 2
    assert fence.get("a", 1, "other") is None


def test_the_writes_of_a_block_land_together_at_its_end(fence: EtcdFence) -> None:
    fence.put("a", 1, "total", "5")
    with fence.guard("a", 2) as block:
        block.put("total", str(int(block.get("total") or 0) + 1))
        block.put("total", str(int(block.get("total") or 0) + 2))
        block.delete("other")
        assert block.get_all("tot") == {"total": b"5"}
    assert fence.get("a", 2, "total") == b"7"


def test_the_last_that_a_block_says_of_a_key_counts(fence: EtcdFence) -> None:
    for key in ("there", "replaced", "made again"):
        fence.put("a", 1, key, "before")
    with fence.guard("a", 2) as block:
        block.delete("there")
        block.put("replaced", "after")
        block.delete("replaced")
        block.delete("made again")
        block.put("made again", "after")
    found = {key: fence.get("a", 2, key) for key in ("there", "replaced", "made again")}
    assert found == {"there": None, "replaced": None, "made again": b"after"}


def test_a_block_that_is_overtaken_reads_no_more(fence: EtcdFence) -> None:
    fence.put("a", 1, "total", "5")
    with fence.guard("a", 2) as block:
        assert block.get("total") == b"5"
        fence.claim("a", 3)
        for read in (lambda: block.get("total"), lambda: block.get_all("tot")):
            with pytest.raises(Stale):
                read()


def test_whoever_claims_while_another_writes_sees_the_write_or_it_does_not_happen(
    fence: EtcdFence, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bytes | None] = []
    commit = fence._client.commit

    def overtaken(transaction: bytes) -> Outcome | None:
        outcome = commit(transaction)
        with EtcdFence(url) as newer:
            seen.append(newer.get("a", 9, "total"))
        return outcome

    monkeypatch.setattr(fence._client, "commit", overtaken)
    fence.put("a", 5, "total", "1")
    with EtcdFence(url) as newer:
        assert seen == [newer.get("a", 9, "total")] == [b"1"]


def test_a_write_on_a_lease_that_is_gone_is_not_reported_as_done(fence: EtcdFence) -> None:
    with pytest.raises(Unavailable, match="lost a lease"):
        fence.run("a", 1, [request.put(b"total", b"5", lease=404)])
    assert fence.get("a", 1, "total") is None


def test_a_block_overtaken_before_its_end_writes_nothing(fence: EtcdFence) -> None:
    with pytest.raises(Stale), fence.guard("a", 2) as block:
        block.put("total", "1")
        fence.claim("a", 3)
    assert fence.get("a", 3, "total") is None


def test_a_block_that_raises_writes_nothing_and_its_claim_stands(fence: EtcdFence) -> None:
    with pytest.raises(ZeroDivisionError), fence.guard("a", 5) as block:
        block.put("total", "1")
        raise ZeroDivisionError
    assert fence.highest("a") == 5
    assert fence.get("a", 5, "total") is None


async def test_the_asynchronous_twin_does_the_same(async_fence: AsyncEtcdFence) -> None:
    async with async_fence.guard("a", 2) as block:
        block.put("total", "1")
    assert await async_fence.get("a", 2, "total") == b"1"
    with pytest.raises(Stale):
        await async_fence.put("a", 1, "total", "0")
    assert await async_fence.highest("a") == 2


def test_of_many_who_come_at_once_none_passes_after_a_higher_one(fence: EtcdFence, url: str) -> None:
    accepted: list[int] = []

    def write(token: int) -> None:
        with EtcdFence(url) as own:
            try:
                own.put("a", token, "last", str(token))
            except Stale:
                return
            accepted.append(token)

    threads = [threading.Thread(target=write, args=[token]) for token in range(1, 21)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 20 in accepted
    assert fence.highest("a") == 20
    assert fence.get("a", 20, "last") == b"20"


def test_grants_of_a_session_go_through_and_a_lost_one_does_not(fence: EtcdFence, url: str) -> None:
    with fencepost.connect(url, ttl=60) as first, fencepost.connect(url, ttl=60) as second:
        old = first.lock("orders/42").acquire()
        fence.put("orders/42", old, "total", "1")
        second.evict("orders/42")
        new = second.lock("orders/42").acquire(timeout=60)
        fence.claim("orders/42", new)
        with pytest.raises(Stale):
            fence.put("orders/42", old, "total", "2")


def test_wrong_addresses_names_and_keys_are_refused_before_anything_is_sent(fence: EtcdFence) -> None:
    with pytest.raises(ValueError, match="etcd:// or etcds://"):
        EtcdFence("redis://127.0.0.1")
    with pytest.raises(ValueError, match="must not be empty"):
        fence.put("a", 1, "", "x")
    with pytest.raises(ValueError, match="must not be empty"):
        fence.claim("", 1)
    with pytest.raises(TypeError, match="pass the grant"):
        fence.claim("a", "7")  # type: ignore[arg-type]


def test_a_server_that_is_not_there_is_unavailable() -> None:
    started = time.monotonic()
    with EtcdFence("etcd://127.0.0.1:1", patience=60) as fence, pytest.raises(Unavailable):
        fence.claim("a", 1)
    assert time.monotonic() - started < 30


def test_fences_with_different_marks_do_not_meet(fence: EtcdFence, url: str) -> None:
    fence.claim("a", 7)
    with EtcdFence(url, marks="others/") as other:
        other.put("a", 6, "total", b"1")
        assert (other.highest("a"), fence.highest("a")) == (6, 7)


def test_a_mark_is_a_key_that_people_can_read(fence: EtcdFence, url: str) -> None:
    fence.claim("orders/42", 41)
    speaker = client(url=url)
    (pair,) = speaker.read(request.select(b"fencepost/fence/orders/42")).pairs
    speaker.close()
    assert pair.value == b"0000000000000000041"


STRANGE = [b"", b" ", b"-5", b"!", b"0", b"99", b"garbage", b"9" * 19, b"9" * 20, b"\xff\xfe"]


@pytest.mark.parametrize("mark", STRANGE)
def test_a_mark_that_somebody_else_has_written_is_refused_and_left_alone(fence: EtcdFence, mark: bytes) -> None:
    fence.put("other", 1, "fencepost/fence/a", mark)
    for call in (
        lambda: fence.claim("a", 5),
        lambda: fence.put("a", LARGE, "total", "0"),
        lambda: fence.get("a", 1, "total"),
        lambda: fence.highest("a"),
    ):
        with pytest.raises(Refused, match="somebody else has written it"):
            call()
    assert fence.get("other", 1, "fencepost/fence/a") == mark
    assert fence.get("other", 1, "total") is None


@pytest.mark.parametrize("mark", STRANGE)
async def test_the_asynchronous_fence_refuses_it_too(async_fence: AsyncEtcdFence, mark: bytes) -> None:
    await async_fence.put("other", 1, "fencepost/fence/a", mark)
    with pytest.raises(Refused, match="somebody else has written it"):
        await async_fence.claim("a", 5)
    assert await async_fence.get("other", 1, "fencepost/fence/a") == mark


def test_a_block_writes_as_many_keys_as_the_manual_says(fence: EtcdFence) -> None:
    with fence.guard("a", 1) as keys:
        for number in range(125):
            keys.put(f"key/{number}", "1")
    assert len(fence.get_all("a", 1, "key/")) == 125


def test_a_child_of_a_fork_claims_with_its_parents_fence_and_leaves_it_alone(url: str) -> None:
    with started(claim_in_a_forked_child, EtcdFence, url) as (_, pipe):
        assert (pipe.recv(), pipe.recv()) == (2, 3)
