"""Servers that drip, flood or talk nonsense, and nodes that others have made: an error in time, of that name alone."""

import asyncio
import struct
import tracemalloc
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from kazoo.client import KazooClient

import fencepost
from fencepost import EngineError, FencepostError
from fencepost._runtime.clock import boottime
from fencepost.engines.zookeeper.frame import LONGEST
from fencepost.engines.zookeeper.jute import buffer
from fencepost.testing.zookeeper import shared_server
from tests.support.engine import cells_of
from tests.support.hostile import Hostile, Speech, dripping, flooding, hasty, hasty_async
from tests.support.zookeeper.nonsense import BODIES, ERRORS, EVENT, EVENTS, babbling, bodied, keeping

pytestmark = pytest.mark.slow

# How long it may take to be back, of a server that would keep us for ever; no busy machine needs so long.
SOON = 30.0
LASTING = 60.0
HEADER = struct.pack(">iqi", 1, 1, 0)


def _telling(event: bytes) -> Speech:
    return babbling(lambda xid: buffer(struct.pack(">iqi", -1, 0, 0) + event))


KEEPING = {
    "drips a greeting": dripping(struct.pack(">i", 1000)),
    "floods instead of a greeting": flooding(struct.pack(">i", 60_000_000), bytes(65_536)),
    "drips a reply": keeping(struct.pack(">i", 1000) + HEADER, b"\0", 0.05),
    "floods with a reply": keeping(struct.pack(">i", 60_000_000) + HEADER, bytes(65_536), 0),
    "floods with events": keeping(b"", EVENT * 1000, 0),
    "drips events": keeping(b"", EVENT, 0.05),
    "never answers": keeping(b"", b"", 0.05),
}
NONSENSE: dict[str, Speech] = {
    **{f"body {each[:12]!r}": bodied(each) for each in BODIES},
    **{f"error {each}": bodied(b"", each) for each in ERRORS},
    **{f"event {each[:12]!r}": _telling(each) for each in EVENTS},
    "another number": babbling(lambda xid: buffer(struct.pack(">iqi", xid + 1, 1, 0))),
    "no header": babbling(lambda xid: buffer(b"abc")),
    "a length below nothing": babbling(lambda xid: struct.pack(">i", -6)),
}


def url_of(server: Hostile) -> str:
    return f"zookeeper://127.0.0.1:{server.port}/x"


CALLS: dict[str, Callable[[Any], Any]] = {
    "acquire": lambda session: session.lock("a").acquire(timeout=0.3),
    "try_acquire": lambda session: session.lock("a").try_acquire(),
    "reader": lambda session: session.rwlock("a").read().acquire(timeout=0.3),
    "look": lambda session: session.look("a"),
    "names": lambda session: session.names(),
    "evict": lambda session: session.evict("a"),
    "cell": lambda session: session.engine.cells.read("a"),
}


@pytest.mark.parametrize("speech", [pytest.param(each, id=name) for name, each in KEEPING.items()])
def test_no_server_keeps_a_call_longer_than_it_may_take(speech: Speech) -> None:
    with Hostile(speech) as server:
        session = hasty(url_of(server))
        began_at = boottime()
        for call in (CALLS["acquire"], CALLS["look"]):
            with pytest.raises(FencepostError):
                call(session)
        session.close()
        assert boottime() - began_at < SOON


@pytest.mark.parametrize("speech", [pytest.param(each, id=name) for name, each in KEEPING.items()])
async def test_no_server_keeps_a_task_longer_than_it_may_take(speech: Speech) -> None:
    with Hostile(speech) as server:
        session = hasty_async(url_of(server))
        began_at = boottime()
        for call in (CALLS["acquire"], CALLS["look"]):
            with pytest.raises(FencepostError):
                await call(session)
        await session.close()
        assert boottime() - began_at < SOON


@pytest.mark.parametrize("speech", [pytest.param(each, id=name) for name, each in NONSENSE.items()])
def test_no_answer_raises_anything_but_an_error_of_ours(speech: Speech) -> None:
    with Hostile(speech) as server:
        session = hasty(url_of(server))
        for call in CALLS.values():
            with suppress(FencepostError):
                call(session)
        session.close()


async def test_no_answer_raises_anything_but_an_error_of_ours_in_an_event_loop(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def try_all(speech: Speech) -> None:
        with Hostile(speech) as server:
            session = hasty_async(url_of(server))
            for call in CALLS.values():
                with suppress(FencepostError):
                    await call(session)
            await session.close()

    await asyncio.gather(*map(try_all, NONSENSE.values()))
    # What is raised in a call-back reaches the log alone.
    assert not [record for record in caplog.records if record.name == "asyncio"]


def test_what_is_too_much_is_an_error_takes_no_memory_and_ends_the_connection() -> None:
    with Hostile(flooding(struct.pack(">i", 2**30), bytes(65_536))) as server:
        session = hasty(url_of(server))
        tracemalloc.start()
        try:
            for calls in (1, 2):
                with pytest.raises(EngineError, match="no answer of a ZooKeeper server"):
                    session.look("a")
                assert server.calls == calls
            # Of the whole process, whatever else runs in it: far from the size that a reply may have.
            assert tracemalloc.get_traced_memory()[1] < LONGEST // 2
        finally:
            tracemalloc.stop()
        session.close()


# What others have made


@pytest.fixture
def folder() -> str:
    return uuid.uuid4().hex


@pytest.fixture
def client() -> Iterator[Any]:
    client = KazooClient(hosts=f"127.0.0.1:{shared_server().port}", timeout=20)
    client.start()
    yield client
    client.stop()
    client.close()


@pytest.mark.parametrize(
    ("node", "data"),
    [
        ("ab-1-x-__lock__", b"[" * 50_000),
        ("ab-1-x-__lock__", b'{"holder":"h","ttl":1%b,"note":""}' % (b"0" * 400)),
        ("ab-1-x-__lock__", b'{"holder":"h","ttl":1e999,"note":""}'),
        ("ab-1-x-__lock__", b'{"holder":"h","ttl":NaN,"note":"\\ud800"}'),
        ("ab-1-x-__lock__", b'{"holder":"\\ud800","ttl":1,"note":""}'),
        ("ab-1-x-__lock__", b"\xff"),
        ("ab-1-x-__lock__", b'{"fencepost":1}'),
        ("ab-%s-x-__lock__" % ("9" * 5000), b""),
        ("ab-1-c%s.1-__lock__" % ("9" * 5000), b""),
        ("ab-1-c0.0-__lock__", b""),
        ("٣-__lock__", b""),
    ],
)
def test_a_node_that_is_none_of_ours_stands_in_line_as_another_clients(
    client: Any, folder: str, node: str, data: bytes
) -> None:
    path = client.create(f"/{folder}/n/{node}", data, makepath=True, ephemeral=True, sequence=True)
    with fencepost.connect(f"zookeeper://127.0.0.1:{shared_server().port}/{folder}", ttl=LASTING) as session:
        with session.lock("other"):
            assert len(session.look("n").holders) == 1
            with pytest.raises(fencepost.AcquireTimeout):
                session.lock("n").acquire(timeout=0.05)
            assert session.names() == ["n", "other"]
        assert len(session.evict("n")) == 1
        assert not client.exists(path)
        with session.lock("n", timeout=LASTING):
            pass


def test_nodes_that_can_be_no_lock_hide_none(client: Any, folder: str) -> None:
    for node in ("%41", "%", "%FF", "n" * 2000, "%00"):
        client.create(f"/{folder}/{node}/ab-1-x-__lock__0000000001", b"", makepath=True)
    with fencepost.connect(f"zookeeper://127.0.0.1:{shared_server().port}/{folder}", ttl=LASTING) as session:
        session.lock("other").acquire()
        assert session.names() == ["other"]


def test_a_record_of_evictions_that_others_have_written_hides_nothing(client: Any, folder: str) -> None:
    with fencepost.connect(f"zookeeper://127.0.0.1:{shared_server().port}/{folder}", ttl=LASTING) as session:
        session.lock("n").acquire()
        assert len(session.evict("n")) == 1
        (record,) = client.get_children(f"/{folder}/.evictions")
        for data in (
            *(b"[" * 50_000, b'{"name":"n","token":1e999,"holder":1,"by":1}', b"5", b"\xff"),
            *(b'{"name":"n","token":1,"holder":"h","by":"\\ud800"}', b'{"name":"n","token":-1,"holder":"h","by":"b"}'),
        ):
            client.create(f"/{folder}/.evictions/{record[:-10]}", data, sequence=True)
        assert [each.name for each in session.look("n").evictions] == ["n"]


def test_a_cell_that_others_have_written_is_refused(client: Any, folder: str) -> None:
    client.create(f"/{folder}/.cells/c", b"=\xff", makepath=True)
    session = fencepost.connect(f"zookeeper://127.0.0.1:{shared_server().port}/{folder}", ttl=LASTING)
    with pytest.raises(fencepost.Refused, match="did not write"):
        cells_of(session).read("c")
    session.close()
