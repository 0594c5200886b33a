"""Servers that drip, flood or talk nonsense, and what others have written: an error in time, of that name alone."""

import asyncio
import socket
import tracemalloc
from collections.abc import Callable
from contextlib import suppress

import pytest

import fencepost
from fencepost import EngineError, FencepostError
from fencepost._runtime.clock import boottime
from fencepost.engines.redis.resp import LONGEST, pack
from fencepost.testing.redis import command
from tests.support.engine import cells_of
from tests.support.hostile import Hostile, Speech, flooding, hasty, hasty_async
from tests.support.redis.nonsense import ANSWERS, KEEPING, babbling
from tests.support.renewal import renew

pytestmark = pytest.mark.slow

# How long it may take to be back, of a server that would keep us for ever; no busy machine needs so long.
SOON = 30.0
LASTING = 120.0
KINDS = ["redis", "redis+cluster", "redis+sentinel"]


def url_of(server: Hostile, kind: str = "redis") -> str:
    return f"{kind}://127.0.0.1:{server.port}" + ("/service" if kind == "redis+sentinel" else "")


CALLS: dict[str, Callable[[fencepost.Session], object]] = {
    "acquire": lambda session: session.lock("a").acquire(timeout=0.3),
    "try_acquire": lambda session: session.lock("a").try_acquire(),
    "look": lambda session: session.look("a"),
    "names": lambda session: session.names(),
    "evict": lambda session: session.evict("a"),
}


@pytest.mark.parametrize(
    ("kind", "speech"),
    [
        *(pytest.param("redis", speech, id=name) for name, speech in KEEPING.items()),
        ("redis+cluster", KEEPING["drips a text"]),
        ("redis+sentinel", KEEPING["drips a text"]),
    ],
)
def test_no_server_keeps_a_call_longer_than_it_may_take(kind: str, speech: Speech) -> None:
    with Hostile(speech) as server:
        session = hasty(url_of(server, kind))
        began_at = boottime()
        for call in (CALLS["acquire"], CALLS["look"]):
            with pytest.raises(FencepostError):
                call(session)
        session.close()
        assert boottime() - began_at < SOON


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: repr(answer[:20]))
def test_no_answer_raises_anything_but_an_error_of_ours(kind: str, answer: bytes) -> None:
    with Hostile(babbling(answer)) as server:
        session = hasty(url_of(server, kind))
        for call in CALLS.values():
            with suppress(FencepostError):
                call(session)
        session.close()


@pytest.mark.parametrize("kind", KINDS)
async def test_no_answer_raises_anything_but_an_error_of_ours_in_an_event_loop(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def try_all(answer: bytes) -> None:
        with Hostile(babbling(answer)) as server:
            session = hasty_async(url_of(server, kind))
            for call in CALLS.values():
                with suppress(FencepostError):
                    await call(session)  # type: ignore[arg-type, misc]
            await session.close()

    await asyncio.gather(*map(try_all, ANSWERS))
    # What is raised in a call-back reaches the log alone.
    assert not [record for record in caplog.records if record.name == "asyncio"]


@pytest.mark.parametrize("speech", [pytest.param(each, id=name) for name, each in KEEPING.items()])
async def test_no_server_keeps_a_task_longer_than_it_may_take(speech: Speech) -> None:
    with Hostile(speech) as server:
        session = hasty_async(url_of(server))
        began_at = boottime()
        with pytest.raises(FencepostError):
            await session.lock("a").acquire(timeout=0.3)
        with pytest.raises(FencepostError):
            await session.look("a")
        await session.close()
        assert boottime() - began_at < SOON


def test_what_is_too_much_is_an_error_takes_no_memory_and_ends_the_connection() -> None:
    with Hostile(flooding(b"$1000000000000\r\n", bytes(65_536))) as server:
        session = fencepost.connect(url_of(server), ttl=LASTING)
        tracemalloc.start()
        try:
            for calls in (1, 2):
                with pytest.raises(EngineError, match="longer than 64 MiB"):
                    session.look("a")
                assert server.calls == calls
            # Of the whole process, whatever else runs in it: far from the size that a reply may have.
            assert tracemalloc.get_traced_memory()[1] < LONGEST // 2
        finally:
            tracemalloc.stop()
        session.close()


def test_an_answer_that_makes_no_sense_ends_the_connection() -> None:
    with Hostile(babbling(b"+OK\r\n")) as server:
        session = fencepost.connect(url_of(server), ttl=LASTING)
        for calls in (1, 2):
            with pytest.raises(EngineError, match="makes no sense"):
                session.look("a")
            assert server.calls == calls
        session.close()


# What others have written

RECORDS = [
    b"fp:h:1:x:3:abc",
    b"fp:h:1:5:9999999999:abc",
    b"fp:h:1:5:zz:abc",
    b"\xff\xfe",
    b"fp:",
    b"fp:::::",
    b"fp:\xff:1:5:0:",
]
RECORDS += [b"fp:h:%b:5:0:" % (b"9" * 5000), b"fp:h:1:-5:0:", b"fp:h:1:0:0:", b"fp:h:1:99999999999999999999:0:"]


@pytest.mark.parametrize("value", RECORDS, ids=lambda value: repr(value[:30]))
def test_a_value_that_is_none_of_ours_is_held_by_another_client(port: int, url: str, value: bytes) -> None:
    with fencepost.connect(url, ttl=LASTING) as session:
        write(port, "SET", "n", value, "PX", "60000")
        write(port, "ZADD", "fencepost\0names", "9e18", "n")
        with session.lock("other"):
            with pytest.raises(fencepost.AcquireTimeout):
                session.lock("n").acquire(timeout=0.05)
            assert len(session.look("n").holders) == 1
            assert "other" in session.names()
        assert len(session.evict("n")) == 1
        with session.lock("n", timeout=0):
            pass


def test_a_queue_that_others_have_written_to_concerns_its_name_alone(port: int, url: str) -> None:
    with fencepost.connect(url, ttl=LASTING) as session:
        for member in ("garbage", "h:1:x:y:q:zz", "h:1:5:c:m:[[", "h:1:5:c:c9,:0:"):
            write(port, "ZADD", "fencepost\0queue\0n", "inf" if member == "garbage" else "2", member)
        for lease in ("h", "garbage"):
            write(port, "SET", f"fencepost\0lease\0{lease}", "1", "PX", "60000")
        write(port, "ZADD", "fencepost\0names", "9e18", "n")
        assert len(session.look("n").waiters) == 4
        with session.lock("other"):
            assert session.names() == ["n", "other"]
            with pytest.raises((EngineError, fencepost.AcquireTimeout)):
                session.lock("n").acquire(timeout=0.05)


@pytest.mark.parametrize("entry", [b"not json", b"[" * 5000, b"[1]", b"5", b'["n",null,{},[],{},"x"]', b"\xff"])
def test_a_record_of_evictions_that_others_have_written_to_hides_nothing(port: int, url: str, entry: bytes) -> None:
    with fencepost.connect(url, ttl=LASTING) as session:
        session.lock("n").acquire()
        write(port, "LPUSH", "fencepost\0audit", entry)
        session.evict("n")
        write(port, "LPUSH", "fencepost\0audit", entry)
        assert [each.name for each in session.look("n").evictions] == ["n"]
        assert session.names() == []


def test_a_renewal_that_finds_something_gone_is_not_stopped_by_what_others_have_recorded(port: int, url: str) -> None:
    with fencepost.connect(url, ttl=LASTING) as session:
        kept, taken = session.lock("kept").acquire(), session.lock("taken").acquire()
        write(port, "LPUSH", "fencepost\0audit", b"not json")
        write(port, "DEL", "taken")
        renew(session)
        assert kept.held
        assert not taken.held


def test_a_name_that_can_be_none_hides_no_other(port: int, url: str) -> None:
    with fencepost.connect(url + "?prefix=p", ttl=LASTING) as session:
        for key in (b"p\xff\xfe", b"p", b"p" + b"n" * 2000):
            write(port, "SET", key, "fp:h:1:5:3:abc")
            write(port, "ZADD", "fencepost\0names", "9e18", key)
        with session.lock("other"):
            assert session.names() == ["other"]


def test_a_cell_that_others_have_written_is_refused(port: int, url: str) -> None:
    with fencepost.connect(url, ttl=LASTING) as session:
        for value in (b"\xff", b"v"):
            write(port, "HSET", "fencepost\0cell\0c", "version", "x" if value == b"v" else "1", "value", value)
            with pytest.raises(fencepost.Refused, match="did not write"):
                cells_of(session).read("c")


def write(port: int, *words: bytes | str) -> None:
    """Bytes, too."""
    with socket.create_connection(("127.0.0.1", port)) as wire:
        wire.sendall(pack(*words))
        assert not wire.recv(1000).startswith(b"-")
    assert command(port, "PING")
