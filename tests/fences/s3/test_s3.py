"""The fence inside an object store, against versitygw: a real one, whose conditional writes are atomic."""

import json
import shutil
import threading
import uuid
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, FlexibleChecksumError, ReadTimeoutError

from fencepost.errors import Refused, Stale
from fencepost.fences.s3 import S3Fence
from fencepost.testing.binary import find_built
from fencepost.testing.port import free_port
from fencepost.testing.server import ServerProcess, listening, quick_folder
from tests.support.fences.process import resume, started, stop


def client_of(port: int) -> Any:
    return boto3.client(
        "s3",
        endpoint_url=f"http://127.0.0.1:{port}",
        region_name="us-east-1",
        aws_access_key_id="nobody",
        aws_secret_access_key="nothing",
        config=Config(s3={"addressing_style": "path"}, proxies={}),
    )


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    port = free_port()
    folder = quick_folder("fencepost-versitygw-")
    for each in ("objects", "attributes"):
        (folder / each).mkdir()
    argv = [
        find_built("versitygw"),
        "--quiet",
        "--port",
        f"127.0.0.1:{port}",
        "--access",
        "nobody",
        "--secret",
        "nothing",
    ]
    # Not every file system has attributes.
    argv += ["posix", "--sidecar", "{folder}/attributes", "{folder}/objects"]
    try:
        with ServerProcess(argv, ready=listening(port), folder=folder, timeout=60):
            client_of(port).create_bucket(Bucket="shop")
            yield port
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def client(port: int) -> Iterator[Any]:
    client = client_of(port)
    yield client
    client.close()


@pytest.fixture
def key(request: pytest.FixtureRequest) -> str:
    return f"reports/{request.node.name}"


def contents(client: Any, key: str) -> list[str]:
    found = client.list_objects_v2(Bucket="shop", Prefix=f"{key}.content/")
    return [each["Key"] for each in found.get("Contents", [])]


def test_a_lower_token_is_refused_and_an_equal_one_passes(client: Any, key: str) -> None:
    fence = S3Fence(client, "shop")
    assert (fence.highest(key), fence.peek(key)) == (0, None)
    fence.write(key, 7, b"one")
    fence.write(key, 7, b"two", ContentType="text/plain")
    with pytest.raises(Stale) as refused:
        fence.write(key, 6, b"old")
    assert (refused.value.name, refused.value.token, refused.value.highest) == (key, 6, 7)
    with pytest.raises(Stale):
        fence.read(key, 6)
    with pytest.raises(Stale):
        fence.delete(key, 6)
    assert (fence.read(key, 7), fence.peek(key), fence.highest(key)) == (b"two", b"two", 7)


def test_the_token_is_in_the_metadata(client: Any, key: str) -> None:
    S3Fence(client, "shop").write(key, 7, b"one")
    assert client.head_object(Bucket="shop", Key=key)["Metadata"] == {"fencing-token": "7"}


def test_a_claim_shuts_out_those_before_it_also_where_there_is_nothing_yet(client: Any, key: str) -> None:
    fence = S3Fence(client, "shop")
    fence.claim(key, 7)
    with pytest.raises(Stale):
        fence.write(key, 6, b"late")
    assert fence.read(key, 7) is None


def test_replaced_and_deleted_content_does_not_pile_up(client: Any, key: str) -> None:
    fence = S3Fence(client, "shop")
    for word in (b"one", b"two", b"three"):
        fence.write(key, 7, word)
    with pytest.raises(Stale):
        fence.write(key, 6, b"late")
    assert len(contents(client, key)) == 1
    fence.delete(key, 8)
    assert (contents(client, key), fence.peek(key), fence.highest(key)) == ([], None, 8)
    fence.write(key, 8, b"again")
    assert fence.peek(key) == b"again"


class Overtaken:
    """A client that lets another act just before its first conditional write."""

    def __init__(self, client: Any, act: Any) -> None:
        self._client, self._act = client, act

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def put_object(self, **options: Any) -> Any:
        if self._act is not None and ("IfMatch" in options or "IfNoneMatch" in options):
            act, self._act = self._act, None
            act()
        return self._client.put_object(**options)


@pytest.mark.parametrize("there", [False, True])
def test_whoever_is_overtaken_between_look_and_write_is_refused(client: Any, key: str, there: bool) -> None:
    newer = S3Fence(client, "shop")
    if there:
        newer.write(key, 5, b"before")
    older = S3Fence(Overtaken(client, lambda: newer.claim(key, 7)), "shop")
    with pytest.raises(Stale):
        older.write(key, 6, b"late")
    assert newer.read(key, 7) == (b"before" if there else None)
    assert len(contents(client, key)) == there


def test_a_newer_one_that_finds_an_older_one_quicker_writes_all_the_same(client: Any, key: str) -> None:
    older = S3Fence(client, "shop")
    newer = S3Fence(Overtaken(client, lambda: older.write(key, 6, b"older")), "shop")
    newer.write(key, 7, b"newer")
    assert (older.peek(key), older.highest(key)) == (b"newer", 7)


def test_a_read_gives_what_an_older_one_has_written_just_before_its_claim(client: Any, key: str) -> None:
    older = S3Fence(client, "shop")
    older.write(key, 5, b"before")
    newer = S3Fence(Overtaken(client, lambda: older.write(key, 6, b"older")), "shop")
    assert newer.read(key, 7) == b"older"


class Replaced:
    """A client that lets another act between its read of a pointer and that of the content, once."""

    def __init__(self, client: Any, act: Any) -> None:
        self._client, self._act = client, act

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def get_object(self, **options: Any) -> Any:
        if self._act is not None and ".content/" in options["Key"]:
            act, self._act = self._act, None
            act()
        return self._client.get_object(**options)


@pytest.mark.parametrize("look", [lambda fence, key: fence.read(key, 7), S3Fence.peek], ids=["read", "peek"])
def test_content_that_was_replaced_while_it_was_read_is_read_again(client: Any, key: str, look: Any) -> None:
    fence = S3Fence(client, "shop")
    fence.write(key, 7, b"first")
    reader = S3Fence(Replaced(client, lambda: fence.write(key, 7, b"second")), "shop")
    assert look(reader, key) == b"second"


class Forgetful:
    """A client whose conditional writes are done twice, as if the first answer had been lost."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def put_object(self, **options: Any) -> Any:
        if "IfMatch" in options or "IfNoneMatch" in options:
            self._client.put_object(**options)
        return self._client.put_object(**options)


def test_a_client_that_asks_twice_writes_once(client: Any, key: str) -> None:
    fence = S3Fence(Forgetful(client), "shop")
    fence.write(key, 7, b"one")
    fence.write(key, 8, b"two")
    assert (fence.peek(key), len(contents(client, key))) == (b"two", 1)


class Unheard:
    """A client whose conditional writes are done; the answers to the first of them, from when it is armed, are lost.

    What it hears instead is what boto3 tells when it gives up; or what the store tells boto3 when it asks again, after
    `meanwhile`.
    """

    def __init__(self, client: Any, meanwhile: Any = None) -> None:
        self._client, self._meanwhile = client, meanwhile
        self.armed = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def put_object(self, **options: Any) -> Any:
        answer = self._client.put_object(**options)
        if not self.armed or not ("IfMatch" in options or "IfNoneMatch" in options):
            return answer
        self.armed = False
        if self._meanwhile is None:
            raise ReadTimeoutError(endpoint_url="http://127.0.0.1")
        self._meanwhile()
        return self._client.put_object(**options)


def test_a_write_whose_answer_is_lost_leaves_content_that_can_be_read(client: Any, key: str) -> None:
    unheard = Unheard(client)
    fence = S3Fence(unheard, "shop")
    fence.write(key, 5, b"first")
    unheard.armed = True
    with pytest.raises(ReadTimeoutError):
        fence.write(key, 5, b"second")
    assert (fence.peek(key), fence.read(key, 6)) == (b"second", b"second")
    fence.write(key, 6, b"third")
    assert fence.peek(key) == b"third"


class Late:
    """A client whose conditional writes stay under way, and it gives up; `arrive` lets them reach the store."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._under_way: list[dict[str, Any]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def put_object(self, **options: Any) -> Any:
        if "IfMatch" not in options and "IfNoneMatch" not in options:
            return self._client.put_object(**options)
        self._under_way.append(options)
        raise ReadTimeoutError(endpoint_url="http://127.0.0.1")

    def arrive(self) -> None:
        for options in self._under_way:
            self._client.put_object(**options)


def test_a_write_that_arrives_after_its_writer_gave_up_leads_to_its_content(client: Any, key: str) -> None:
    late, fence = Late(client), S3Fence(client, "shop")
    fence.write(key, 5, b"first")
    with pytest.raises(ReadTimeoutError):
        S3Fence(late, "shop").write(key, 5, b"second")
    assert fence.peek(key) == b"first"
    late.arrive()
    assert fence.peek(key) == b"second"


def test_a_late_write_changes_nothing_after_a_newer_claim(client: Any, key: str) -> None:
    late, fence = Late(client), S3Fence(client, "shop")
    fence.write(key, 5, b"first")
    with pytest.raises(ReadTimeoutError):
        S3Fence(late, "shop").write(key, 5, b"second")
    assert fence.read(key, 6) == b"first"
    with pytest.raises(ClientError, match="PreconditionFailed"):
        late.arrive()
    assert fence.peek(key) == b"first"


def test_a_write_that_a_newer_one_claims_before_its_answer_was_done(client: Any, key: str) -> None:
    newer = S3Fence(client, "shop")
    unheard = Unheard(client, lambda: newer.claim(key, 8))
    older = S3Fence(unheard, "shop")
    older.write(key, 7, b"first")
    unheard.armed = True
    older.write(key, 7, b"second")
    assert (newer.read(key, 8), len(contents(client, key))) == (b"second", 1)
    with pytest.raises(Stale):
        older.write(key, 7, b"third")


def test_a_pointer_that_was_replaced_while_it_was_read_is_read_again(client: Any, key: str) -> None:
    S3Fence(client, "shop").write(key, 7, b"first")

    class Torn(Unheard):
        """The first time it reads, headers and body are of two objects."""

        reads = 0

        def get_object(self, **options: Any) -> Any:
            found = client.get_object(**options)
            self.reads += 1
            if self.reads == 1:
                found["Body"] = Broken()
            return found

    torn = Torn(client, lambda: None)
    S3Fence(torn, "shop").write(key, 8, b"second")
    assert S3Fence(client, "shop").read(key, 8) == b"second"
    assert torn.reads > 1


class Broken:
    def read(self) -> bytes:
        raise FlexibleChecksumError(error_msg="of another object")


def test_of_writers_at_the_same_time_the_highest_token_is_the_last(port: int, client: Any, key: str) -> None:
    start = threading.Barrier(8)
    refused = []

    def write(token: int) -> None:
        each = client_of(port)
        start.wait()
        try:
            S3Fence(each, "shop").write(key, token, str(token).encode())
        except Stale:
            refused.append(token)
        each.close()

    writers = [threading.Thread(target=write, args=[token]) for token in range(1, 9)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    fence = S3Fence(client, "shop")
    assert (fence.peek(key), fence.highest(key), 8 in refused) == (b"8", 8, False)
    assert len(contents(client, key)) == 1


def test_the_trap_a_claim_in_the_metadata_alone_leaves_the_etag_as_it_was(client: Any, key: str) -> None:
    """Why the fence does not keep the content at the key itself."""
    first = client.put_object(Bucket="shop", Key=key, Body=b"same", Metadata={"fencing-token": "6"})["ETag"]
    claimed = client.put_object(Bucket="shop", Key=key, Body=b"same", Metadata={"fencing-token": "7"})["ETag"]
    assert claimed == first
    client.put_object(Bucket="shop", Key=key, Body=b"late", IfMatch=first)


def test_an_object_that_no_fence_has_written_is_left_alone(client: Any, key: str) -> None:
    client.put_object(Bucket="shop", Key=key, Body=b"precious")
    with pytest.raises(Refused, match="was not written through a fence"):
        S3Fence(client, "shop").write(key, 7, b"new")
    assert client.get_object(Bucket="shop", Key=key)["Body"].read() == b"precious"


@pytest.mark.parametrize(
    "content",
    [
        "precious",
        "{key}",
        "{key}.content/",
        "{key}.content/7-0123456789abcdef/more",
        "{key}.content/../precious",
        "{key}.content/x-0123456789abcdef",
        "{key}2.content/7-0123456789abcdef",
        "/{key}.content/7-0123456789abcdef",
    ],
)
def test_a_forged_pointer_leads_to_no_other_object(client: Any, content: str) -> None:
    fence, key = S3Fence(client, "shop"), f"reports/{uuid.uuid4().hex}"
    client.put_object(Bucket="shop", Key="precious", Body=b"gold")
    forged = json.dumps({"token": 1, "nonce": "x", "content": content.replace("{key}", key)})
    client.put_object(Bucket="shop", Key=key, Body=forged)
    attempts: tuple[Callable[[], object], ...] = (
        lambda: fence.write(key, 7, b"new"),
        lambda: fence.delete(key, 7),
        lambda: fence.read(key, 7),
        lambda: fence.peek(key),
    )
    for attempt in attempts:
        with pytest.raises(Refused, match="was not written through a fence"):
            attempt()
    assert client.get_object(Bucket="shop", Key="precious")["Body"].read() == b"gold"
    assert client.get_object(Bucket="shop", Key=key)["Body"].read().decode() == forged


def test_errors_of_the_store_come_unchanged(client: Any) -> None:
    with pytest.raises(ClientError, match="NoSuchBucket"):
        S3Fence(client, "nowhere").claim("a", 1)
    with pytest.raises(TypeError, match="takes a client of boto3, not str"):
        S3Fence("shop", "shop")


def read_and_write_when_told(port: int, key: str, pipe: Connection) -> None:
    fence = S3Fence(client_of(port), "shop")
    pipe.send(fence.read(key, 6))
    pipe.recv()
    try:
        fence.write(key, 6, b"late")
        pipe.send("written")
    except Stale as error:
        pipe.send(error)


def test_a_holder_stopped_and_resumed_after_a_newer_one_came_is_refused(client: Any, port: int, key: str) -> None:
    fence = S3Fence(client, "shop")
    fence.write(key, 5, b"before")
    with started(read_and_write_when_told, port, key) as (process, pipe):
        assert pipe.recv() == b"before"
        stop(process)
        pipe.send("go on")
        assert fence.read(key, 7) == b"before"
        resume(process)
        assert isinstance(pipe.recv(), Stale)
    fence.write(key, 7, b"newer")
    assert fence.peek(key) == b"newer"


class Deaf:
    """A client of a store that takes every write, whatever it depends on."""

    def __init__(self, client: Any, to: str) -> None:
        self._client, self._to = client, to

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def put_object(self, **options: Any) -> Any:
        options.pop(self._to, None)
        return self._client.put_object(**options)


@pytest.mark.parametrize("condition", ["IfMatch", "IfNoneMatch"])
@pytest.mark.parametrize("there", [False, True])
def test_a_store_that_ignores_a_condition_is_found_out(client: Any, key: str, condition: str, there: bool) -> None:
    if there:
        S3Fence(client, "shop").write(key, 6, b"before")
    fence = S3Fence(Deaf(client, condition), "shop")
    attempts: tuple[Callable[[], object], ...] = (
        lambda: fence.write(key, 7, b"one"),
        lambda: fence.claim(key, 8),
        lambda: fence.delete(key, 8),
    )
    for attempt in attempts:
        with pytest.raises(Refused, match=f"ignores {condition}, and would let stale tokens pass"):
            attempt()


def test_a_store_is_asked_once_whether_it_refuses(client: Any, key: str) -> None:
    fence = S3Fence(counted := Counted(client), "shop")
    fence.write(key, 7, b"one")
    first = counted.puts
    fence.write(key, 7, b"two")
    assert (first, counted.puts) == (4, 6)


class Counted(Deaf):
    def __init__(self, client: Any) -> None:
        super().__init__(client, "")
        self.puts = 0

    def put_object(self, **options: Any) -> Any:
        self.puts += 1
        return super().put_object(**options)


@pytest.mark.unit
def test_a_client_for_asyncio_is_refused() -> None:
    """Its calls only begin when they are awaited, and nobody here would."""

    class Client:
        async def put_object(self, **options: Any) -> None: ...
        async def __aenter__(self) -> None: ...
        async def __aexit__(self, *_: object) -> None: ...

    with pytest.raises(TypeError, match="not one for asyncio"):
        S3Fence(Client(), "bucket")
