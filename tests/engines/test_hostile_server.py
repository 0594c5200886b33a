"""Servers that are none: they answer byte by byte, never stop, or say nonsense. No call waits for them, and where
others are named, the next one is asked."""

import asyncio
import contextlib
import itertools
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import fencepost
from fencepost._runtime import aio, threads
from fencepost._runtime.clock import boottime
from fencepost.contract import registry
from fencepost.core.lease import Terms
from fencepost.core.url import parse_url
from fencepost.drivers.etcd.http2 import DATA, SETTINGS, frame
from fencepost.primitives._async.session import AsyncSession
from fencepost.primitives._sync.session import Session
from fencepost.testing.contract import SITES
from tests.support.hostile import Hostile

pytestmark = pytest.mark.slow

# How long a call may take, and a part of a minute that no busy machine needs to come back.
TIMEOUT, SOON = 0.5, 20.0
# Of an engine: what is left of it for each of two hosts is a second.
PATIENCE = 2.0
GREETING = b"R" + (8).to_bytes(4) + bytes(4) + b"Z" + (5).to_bytes(4) + b"I"
EXPECTED = (fencepost.EngineError, fencepost.AcquireTimeout, fencepost.Uncertain)


def dripping(begin: bytes) -> Iterator[bytes]:
    yield begin
    for _ in itertools.count():
        time.sleep(0.05)
        yield b"x"


def flooding(begin: bytes, more: bytes) -> Iterator[bytes]:
    yield begin
    yield from itertools.repeat(more)


HELLO = frame(SETTINGS, 0, 0)
HEAD = b"HTTP/1.1 200 OK\r\n"
ROW = b"T" + (31).to_bytes(4) + b"\0\1c\0" + bytes(18) + b"\0" * 5
COPY = b"H" + (7).to_bytes(4) + b"\0\0\0"
FAULTS: dict[str, tuple[str, Callable[[], Iterator[bytes]]]] = {
    "etcd that drips": ("etcd", lambda: dripping(HELLO + (16_000).to_bytes(3) + b"\0\0\0\0\0\1")),
    "etcd that never stops": ("etcd", lambda: flooding(HELLO, frame(DATA, 0, 1, b"\0\3\0\0\0" + b"x" * 16_000) * 4)),
    "etcd that greets for ever": ("etcd", lambda: flooding(b"", frame(6, 0, 0, b"12345678") * 1000)),
    "etcd that says nonsense": ("etcd", lambda: iter([HELLO + b"\xff" * 100])),
    "consul that drips": ("consul", lambda: dripping(HEAD + b"Content-Length: 60000\r\n\r\n")),
    "consul that drips headers": ("consul", lambda: dripping(HEAD + b"X: ")),
    "consul that never stops": (
        "consul",
        lambda: flooding(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"8000\r\n" + b"x" * 0x8000 + b"\r\n"),
    ),
    "consul that says nonsense": ("consul", lambda: iter([HEAD + b"Content-Length: 4\r\n\r\n[[[["])),
    "postgresql that drips": ("postgresql", lambda: dripping(GREETING + b"T" + (60_000).to_bytes(4))),
    "postgresql that drips a greeting": ("postgresql", lambda: dripping(b"")),
    "postgresql that copies": ("postgresql", lambda: iter([GREETING + COPY])),
}


@contextlib.contextmanager
def served(fault: Callable[[], Iterator[bytes]]) -> Iterator[int]:
    """A port at which everybody gets the same."""
    listener, over = socket.create_server(("127.0.0.1", 0)), threading.Event()

    def speak(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            connection.settimeout(1.0)
            # Whoever connects speaks first, and is not answered before.
            connection.recv(65536)
            for piece in fault():
                if over.is_set():
                    return
                connection.sendall(piece)
            over.wait(60)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=speak, args=[connection], daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield listener.getsockname()[1]
    finally:
        over.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


@pytest.mark.parametrize("title", FAULTS)
@pytest.mark.parametrize("flavour", ["async", "sync"])
def test_no_call_waits_for_a_server_that_is_none(title: str, flavour: str) -> None:
    scheme, fault = FAULTS[title]
    with served(fault) as port:
        url = f"{scheme}://u@127.0.0.1:{port}/db" if scheme == "postgresql" else f"{scheme}://127.0.0.1:{port}"
        began_at = boottime()
        if flavour == "async":
            asyncio.run(_call_async(url))
        else:
            _call(url)
        assert boottime() - began_at < SOON


def _hasty(kind: Any, engine: Any, clock: Any, url: str) -> Any:
    """A session with limits as users have them, at an engine that would wait for much longer."""
    address = parse_url(url)
    session = kind(
        engine(address.scheme)(address, clock=clock, patience=60.0), Terms(120.0), label="hasty", clock=clock
    )
    session.limits = session.limits._replace(call=0.3, answer=0.3, farewell=0.1, close=1.0)
    return session


def _call(url: str) -> None:
    session = _hasty(Session, registry.engine, threads.BootClock(), url)
    with pytest.raises(EXPECTED):
        session.lock("a").acquire(timeout=TIMEOUT)
    with pytest.raises(EXPECTED):
        session.lock("a").try_acquire()
    session.close()


async def _call_async(url: str) -> None:
    session = _hasty(AsyncSession, registry.async_engine, aio.BootClock(), url)
    with pytest.raises(EXPECTED):
        await session.lock("a").acquire(timeout=TIMEOUT)
    with pytest.raises(EXPECTED):
        await session.lock("a").try_acquire()
    await session.close()


@pytest.mark.parametrize("title", ["etcd that drips", "consul that drips", "postgresql that drips a greeting"])
def test_where_another_is_named_it_is_asked_by_the_next_call_at_the_latest(title: str) -> None:
    scheme, fault = FAULTS[title]
    with SITES[scheme]() as site, served(fault) as port:
        ((host, good),) = parse_url(site.url).hosts
        url = parse_url(site.url.replace(f"{host}:{good}", f"127.0.0.1:{port},{host}:{good}"))
        clock = threads.BootClock()
        engine = registry.engine(scheme)(url, clock=clock, patience=PATIENCE)
        session = Session(engine, Terms(120.0), label="sync", clock=clock)
        with contextlib.suppress(fencepost.Unavailable):
            session.look("a")
        with session.lock("a", timeout=60.0):
            pass
        session.close()
        asyncio.run(_fail_over(scheme, site.url.replace(f"{host}:{good}", f"127.0.0.1:{port},{host}:{good}")))


async def _fail_over(scheme: str, url: str) -> None:
    clock = aio.BootClock()
    engine = registry.async_engine(scheme)(parse_url(url), clock=clock, patience=PATIENCE)
    session = AsyncSession(engine, Terms(120.0), label="async", clock=clock)
    with contextlib.suppress(fencepost.Unavailable):
        await session.look("a")
    async with session.lock("a", timeout=60.0):
        pass
    await session.close()


@pytest.mark.parametrize("scheme", ["etcd", "zookeeper"])
async def test_tasks_that_wait_for_one_to_connect_are_back_when_it_is(scheme: str) -> None:
    with Hostile(lambda call, over: over.wait()) as server:
        url = parse_url(f"{scheme}://127.0.0.1:{server.port}")
        engine = registry.async_engine(scheme)(url, clock=aio.BootClock(), patience=0.5)
        ends = await asyncio.gather(*(engine.look("a") for _ in range(30)), return_exceptions=True)
        assert {type(end) for end in ends} == {fencepost.Unavailable}
        # In turn, each would have connected anew.
        assert server.calls < 15
        await engine.close()
