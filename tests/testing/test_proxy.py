"""The TCP proxy, between a real client and a real server."""

import asyncio
import gc
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from fencepost.testing import Proxy, ServerProcess, free_port, listening
from fencepost.testing.condition import until
from tests.support.testing import echo

ECHO = Path(echo.__file__)


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    port = free_port()
    with ServerProcess([sys.executable, "-I", "-S", str(ECHO), str(port)], ready=listening(port)) as server:
        server.port = port  # type: ignore[attr-defined]
        yield server


@pytest.fixture
def proxy(server: ServerProcess) -> Iterator[Proxy]:
    (server.folder / "received").unlink(missing_ok=True)
    with Proxy(server.port) as proxy:  # type: ignore[attr-defined]
        yield proxy


@pytest.fixture
def client(proxy: Proxy) -> Iterator[socket.socket]:
    with connect(proxy) as client:
        assert ask(client, b"warm\n") == b"warm\n"
        yield client


def connect(proxy: Proxy) -> socket.socket:
    return socket.create_connection(("127.0.0.1", proxy.port), timeout=20)


def ask(client: socket.socket, line: bytes) -> bytes:
    client.sendall(line)
    return client.recv(100)


def is_silent(client: socket.socket) -> bool:
    client.settimeout(0.1)
    try:
        client.recv(100)
    except TimeoutError:
        return True
    finally:
        client.settimeout(20)
    return False


def received(server: ServerProcess) -> bytes:
    return (server.folder / "received").read_bytes()


def test_what_is_not_harmed_passes_both_ways(client: socket.socket) -> None:
    assert ask(client, b"hello\n") == b"hello\n"


def test_a_delay_is_added_in_each_direction(proxy: Proxy, client: socket.socket) -> None:
    proxy.delay(0.1)
    began_at = time.monotonic()
    assert ask(client, b"slow\n") == b"slow\n"
    assert time.monotonic() - began_at >= 0.2


def test_what_is_held_arrives_when_it_heals(proxy: Proxy, client: socket.socket, server: ServerProcess) -> None:
    proxy.hold()
    client.sendall(b"late\n")
    assert is_silent(client)
    assert received(server) == b"warm\n"
    proxy.heal()
    assert client.recv(100) == b"late\n"


def test_a_dropped_reply_is_of_a_request_that_arrived(
    proxy: Proxy, client: socket.socket, server: ServerProcess
) -> None:
    proxy.drop_replies()
    client.sendall(b"lost\n")
    until(lambda: received(server) == b"warm\nlost\n")
    assert is_silent(client)
    proxy.heal()
    assert ask(client, b"found\n") == b"found\n"


def test_refusing_is_for_new_connections_only(proxy: Proxy, client: socket.socket) -> None:
    proxy.refuse()
    with pytest.raises(ConnectionRefusedError):
        connect(proxy)
    assert ask(client, b"still\n") == b"still\n"
    proxy.heal()
    with connect(proxy) as newer:
        assert ask(newer, b"again\n") == b"again\n"


def test_a_cut_ends_every_connection_and_refuses_new_ones(proxy: Proxy, client: socket.socket) -> None:
    proxy.cut()
    assert client.recv(100) == b""
    with pytest.raises(ConnectionRefusedError):
        connect(proxy)
    proxy.heal()
    with connect(proxy) as newer:
        assert ask(newer, b"again\n") == b"again\n"


def test_what_was_held_is_gone_after_a_cut(proxy: Proxy, client: socket.socket, server: ServerProcess) -> None:
    proxy.hold()
    client.sendall(b"never\n")
    assert is_silent(client)
    proxy.cut()
    proxy.heal()
    with connect(proxy) as newer:
        assert ask(newer, b"next\n") == b"next\n"
    assert received(server) == b"warm\nnext\n"


def test_a_server_that_is_down_ends_the_connection() -> None:
    with Proxy(free_port()) as proxy, connect(proxy) as client:
        assert client.recv(100) == b""


def test_who_is_accepted_while_all_are_cut_is_cut_as_well(proxy: Proxy) -> None:
    go = threading.Event()
    # What the proxy finds to do, when it can: first the cut, then the connection that is there already.
    proxy._loop.call_soon_threadsafe(go.wait)
    with connect(proxy) as client:
        cutting = threading.Thread(target=proxy.cut)
        cutting.start()
        until(lambda: proxy._loop._ready)  # type: ignore[attr-defined]
        go.set()
        cutting.join()
        assert client.recv(100) == b""


def test_who_has_not_read_everything_is_closed_with_the_proxy(server: ServerProcess) -> None:
    with ExitStack() as stack:
        proxy = stack.enter_context(Proxy(server.port))  # type: ignore[attr-defined]
        with connect(proxy) as client:
            sending = threading.Thread(target=_send_much, args=[client])
            sending.start()
            until(lambda: any(map(_is_full, list(proxy._writers))))
            stack.close()
            sending.join()
    gc.collect()


def _send_much(client: socket.socket) -> None:
    try:
        client.sendall(b"x\n" * 2**24)
    except OSError:
        pass


def _is_full(writer: asyncio.StreamWriter) -> bool:
    return writer.transport.get_write_buffer_size() > 0
