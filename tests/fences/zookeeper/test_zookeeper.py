"""The fence inside ZooKeeper, on one server and where a follower lags."""

import threading
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import BadVersionError, NoAuthError, NoNodeError
from kazoo.protocol.serialization import SetData
from kazoo.security import make_acl

import fencepost
from fencepost.errors import Refused, Stale, Unavailable
from fencepost.fences.zookeeper import AsyncZookeeperFence, ZookeeperFence
from fencepost.fences.zookeeper.mark import FOLDER, mark_path
from fencepost.testing.zookeeper import ZookeeperServer, shared_server

LARGE = 2**63 - 1


def connected(server: ZookeeperServer) -> Any:
    client = KazooClient(hosts=f"127.0.0.1:{server.port}", timeout=20)
    client.start()
    return client


@pytest.fixture
def client() -> Iterator[Any]:
    client = connected(shared_server())
    yield client
    client.stop()
    client.close()


@pytest.fixture
def path(client: Any) -> str:
    path = f"/{uuid.uuid4().hex}"
    client.create(path, b"100")
    return path


@pytest.fixture
def fence(client: Any) -> ZookeeperFence:
    return ZookeeperFence(client, f"/fences/{uuid.uuid4().hex}")


def write(client: Any, path: str, data: bytes | None) -> None:
    """As a client of another language does, which may leave a node without any data at all. kazoo does not offer it."""
    outcome = client.handler.async_result()
    client._call(SetData(path, data, -1), outcome)
    outcome.get()


def test_a_lower_token_is_refused_an_equal_one_passes(fence: ZookeeperFence, path: str) -> None:
    assert fence.highest("a") == 0
    fence.set("a", 7, path, b"100")
    fence.set("a", 7, path, b"101")
    with pytest.raises(Stale) as refused:
        fence.set("a", 6, path, b"0")
    assert (refused.value.name, refused.value.token, refused.value.highest) == ("a", 6, 7)
    assert fence.get("a", 7, path)[0] == b"101"
    with pytest.raises(Stale):
        fence.get("a", 6, path)
    assert fence.highest("a") == 7


def test_a_claim_shuts_out_those_before_it_and_touches_nothing(fence: ZookeeperFence, path: str) -> None:
    fence.set("a", 1, path, b"5")
    fence.claim("a", 2)
    with pytest.raises(Stale):
        fence.set("a", 1, path, b"6")
    assert fence.get("a", 2, path)[0] == b"5"


def test_tokens_of_different_names_are_never_compared(fence: ZookeeperFence) -> None:
    for token, name in enumerate((".", "..", "x/y", "x.y", "x_y", "x%2Fy", "🔒" * 100, "x", "X"), start=-9):
        fence.claim(name, -token)
        assert fence.highest(name) == -token


def test_a_mark_outlives_the_session_of_whoever_showed_the_token(fence: ZookeeperFence, client: Any) -> None:
    other = connected(shared_server())
    ZookeeperFence(other, fence._folder).claim("a", 7)
    other.stop()
    other.close()
    with pytest.raises(Stale):
        fence.claim("a", 6)
    assert fence.highest("a") == 7


def test_the_largest_tokens_are_compared_exactly(fence: ZookeeperFence) -> None:
    fence.claim("a", LARGE)
    with pytest.raises(Stale):
        fence.claim("a", LARGE - 1)


def test_writes_of_a_block_land_together_or_not_at_all(fence: ZookeeperFence, client: Any, path: str) -> None:
    with fence.guard("a", 3) as nodes:
        total = int(nodes.get(path)[0])
        nodes.set(path, b"%d" % (total + 1))
        nodes.create(f"{path}/log", b"up")
    assert client.get(path)[0] == b"101"
    with pytest.raises(NoNodeError), fence.guard("a", 3) as nodes:
        nodes.set(path, b"0")
        nodes.delete(f"{path}/missing")
    with pytest.raises(ZeroDivisionError), fence.guard("a", 4) as nodes:
        nodes.delete(f"{path}/log")
        raise ZeroDivisionError
    assert client.get(path)[0] == b"101"
    assert client.exists(f"{path}/log")
    assert fence.highest("a") == 4


def test_a_block_overtaken_by_a_newer_holder_writes_nothing(fence: ZookeeperFence, client: Any, path: str) -> None:
    with pytest.raises(Stale), fence.guard("a", 1) as nodes:
        nodes.set(path, b"old")
        fence.set("a", 2, path, b"new")
    assert client.get(path)[0] == b"new"


def test_a_block_overtaken_by_a_newer_holder_reads_no_more(fence: ZookeeperFence, path: str) -> None:
    with fence.guard("a", 1) as nodes:
        assert nodes.get(path)[0] == b"100"
        fence.claim("a", 2)
        with pytest.raises(Stale):
            nodes.get(path)


class Overtaken:
    """A client that lets another act just before its first transaction."""

    def __init__(self, client: Any, act: Callable[[], None]) -> None:
        self._client, self._acts = client, [act]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def transaction(self) -> Any:
        while self._acts:
            self._acts.pop()()
        return self._client.transaction()


def test_a_read_gives_what_an_older_one_has_written_just_before_its_claim(
    fence: ZookeeperFence, client: Any, path: str
) -> None:
    newer = ZookeeperFence(Overtaken(client, lambda: fence.set("a", 6, path, b"older")), fence._folder)
    assert newer.get("a", 7, path)[0] == b"older"


class Lagging:
    """A client of a server that says of every node what it was when first asked, until it is told to catch up."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._known: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def get(self, path: str) -> Any:
        if path not in self._known:
            self._known[path] = self._client.get(path)
        return self._known[path]

    def sync(self, path: str) -> None:
        self._client.sync(path)
        self._known.clear()


def test_a_server_that_lags_lets_no_stale_token_pass(fence: ZookeeperFence, client: Any, path: str) -> None:
    fence.claim("a", 5)
    attempts: list[Callable[[ZookeeperFence, int], object]] = [
        lambda behind, token: behind.claim("a", token),
        lambda behind, token: behind.claim("a", token + 1),
        lambda behind, token: behind.get("a", token, path),
        lambda behind, token: behind.set("a", token, path, b"late"),
    ]
    for attempt in attempts:
        behind = ZookeeperFence(Lagging(client), fence._folder)
        token = behind.highest("a")
        fence.claim("a", token + 2)
        assert behind.highest("a") == token
        with pytest.raises(Stale):
            attempt(behind, token)
    assert client.get(path)[0] == b"100"


@pytest.mark.parametrize("before", [0, 3, 5])
def test_whoever_is_overtaken_between_look_and_write_is_refused(
    fence: ZookeeperFence, client: Any, path: str, before: int
) -> None:
    if before:
        fence.claim("a", before)

    def overtaken(steps: Any) -> None:
        if fence.highest("a") < 9:
            fence.claim("a", 9)
        steps.set_data(path, b"stale")

    with pytest.raises(Stale):
        fence.transact("a", 5, overtaken)
    assert fence.highest("a") == 9
    assert client.get(path)[0] == b"100"


def test_fences_in_different_folders_have_their_own_marks(fence: ZookeeperFence, client: Any, path: str) -> None:
    fence.claim("a", 7)
    ZookeeperFence(client, f"/fences/{uuid.uuid4().hex}").set("a", 6, path, b"101")


def test_the_callers_own_version_is_checked_too(fence: ZookeeperFence, path: str) -> None:
    _, stat = fence.get("a", 1, path)
    fence.set("a", 1, path, b"1", version=stat.version)
    with pytest.raises(BadVersionError):
        fence.set("a", 1, path, b"2", version=stat.version)


def test_claims_at_once_end_with_the_highest(fence: ZookeeperFence, client: Any) -> None:
    outcomes: dict[int, str] = {}

    def claim(token: int) -> None:
        try:
            fence.claim("a", token)
            outcomes[token] = "claimed"
        except Stale:
            outcomes[token] = "stale"

    threads = [threading.Thread(target=claim, args=[token]) for token in range(1, 17)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(outcomes) == 16
    assert outcomes[16] == "claimed"
    assert fence.highest("a") == 16


async def test_the_asynchronous_fence_does_the_same(client: Any, path: str) -> None:
    fence = AsyncZookeeperFence(client, f"/fences/{uuid.uuid4().hex}")
    async with fence.guard("a", 5) as nodes:
        nodes.set(path, (await nodes.get(path))[0] + b"!")
    assert (await fence.get("a", 5, path))[0] == b"100!"
    with pytest.raises(Stale):
        await fence.delete("a", 4, path)
    await fence.create("a", 5, f"{path}/child")
    assert await fence.highest("a") == 5


def test_a_holder_that_lost_its_lock_is_refused(fence: ZookeeperFence, client: Any, path: str) -> None:
    url = f"zookeeper://127.0.0.1:{shared_server().port}{path}-locks"
    with fencepost.connect(url, ttl=60) as first, fencepost.connect(url, ttl=60) as second:
        old = first.lock("a").acquire()
        fence.claim("a", old)
        second.evict("a")
        with second.lock("a", timeout=60) as new, fence.guard("a", new) as nodes:
            nodes.set(path, b"new")
        with pytest.raises(Stale):
            fence.set("a", old, path, b"old")
    assert client.get(path)[0] == b"new"


@pytest.mark.unit
def test_what_is_no_client_is_refused() -> None:
    with pytest.raises(TypeError, match="a client of kazoo"):
        ZookeeperFence("127.0.0.1")


@pytest.mark.parametrize("mark", [b"not a number", b"", b" 4", b"-4", b"+4", b"1_0", "٤".encode(), b"9" * 20, None])
def test_a_mark_that_somebody_else_has_written_is_refused(client: Any, path: str, mark: bytes | None) -> None:
    fence, name = ZookeeperFence(client), uuid.uuid4().hex
    client.create(mark_path(FOLDER, name), b"0", makepath=True)
    write(client, mark_path(FOLDER, name), mark)
    for call in (lambda: fence.highest(name), lambda: fence.claim(name, 5), lambda: fence.set(name, 5, path, b"1")):
        with pytest.raises(Refused, match="is no token"):
            call()
    assert client.get(path)[0] == b"100"


def test_a_mark_that_may_not_be_written_is_told_of(client: Any, fence: ZookeeperFence, path: str) -> None:
    fence.claim("a", 5)
    client.set_acls(mark_path(fence._folder, "a"), [make_acl("world", "anyone", read=True)])
    with pytest.raises(NoAuthError):
        fence.set("a", 6, path, b"101")
    assert client.get(path)[0] == b"100"
    # An equal token writes no mark.
    fence.set("a", 5, path, b"102")


def test_a_folder_that_may_not_be_written_is_told_of(client: Any, path: str) -> None:
    folder = f"{path}/marks"
    client.create(folder, acl=[make_acl("world", "anyone", read=True)])
    with pytest.raises(NoAuthError):
        ZookeeperFence(client, folder).claim("a", 6)


async def test_the_asynchronous_fence_tells_of_it_too(client: Any, path: str) -> None:
    folder = f"{path}/marks"
    client.create(folder, acl=[make_acl("world", "anyone", read=True)])
    with pytest.raises(NoAuthError):
        await AsyncZookeeperFence(client, folder).claim("a", 6)


def test_a_mark_that_changes_all_the_time_is_given_up(client: Any, fence: ZookeeperFence, path: str) -> None:
    fence.claim("a", 5)
    attempts = []

    def meddle(steps: Any) -> None:
        attempts.append(steps)
        client.set(mark_path(fence._folder, "a"), b"5")
        steps.set_data(path, b"never")

    with pytest.raises(Unavailable, match="the mark of 'a' changed 100 times"):
        fence.transact("a", 6, meddle)
    assert len(attempts) == 100
    assert client.get(path)[0] == b"100"
