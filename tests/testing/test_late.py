"""The proxy that is late: what it keeps, whom it tells, and what it delivers."""

import asyncio
import contextlib
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from fencepost.testing import late
from fencepost.testing.condition import until
from fencepost.testing.late import LateProxy
from fencepost.testing.proxy import Proxy

LONG = 3600.0


class Listener:
    """A server that answers every message with its length, and remembers all of them."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                stream, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(stream,), daemon=True).start()

    def _serve(self, stream: socket.socket) -> None:
        with stream, contextlib.suppress(OSError):
            while data := stream.recv(100):
                self.heard.append(data)
                stream.sendall(b"%d" % len(data))
                while data == b"listen":
                    stream.sendall(b"news")
                    time.sleep(late.SILENCE / 10)

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


@pytest.fixture
def listener() -> Iterator[Listener]:
    listener = Listener()
    yield listener
    listener.close()


def test_what_is_detained_arrives_after_what_was_said_later(listener: Listener) -> None:
    with LateProxy(listener.port) as proxy:
        early, later = (socket.create_connection(("127.0.0.1", proxy.port)) for _ in range(2))
        with early, later:
            early.sendall(b"hello")
            later.sendall(b"hi")
            assert (early.recv(9), later.recv(9)) == (b"5", b"2")
            proxy.detain()
            early.sendall(b"too late")
            until(lambda: proxy.kept == 8)
            proxy.hang_up()
            assert early.recv(9) == b""
            # Nothing of this one was kept, so it is not held up any more; and a new one never was.
            later.sendall(b"first")
            assert later.recv(9) == b"5"
            with socket.create_connection(("127.0.0.1", proxy.port)) as new:
                new.sendall(b"second")
                assert new.recv(9) == b"6"
            proxy.deliver()
    assert listener.heard[2:] == [b"first", b"second", b"too late"]


@pytest.mark.parametrize("kind", [Proxy, LateProxy])
def test_what_lags_is_overtaken_on_another_connection_and_arrives_though_its_sender_has_gone(
    kind: type[Proxy], listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    overtaken = threading.Event()
    lags = iter([LONG])
    slept: list[float] = []
    sleep = asyncio.sleep

    async def nap(seconds: float) -> None:
        slept.append(seconds)
        while seconds == LONG and not overtaken.is_set():
            await sleep(0.001)

    with kind(listener.port, lag=lambda: next(lags, 0.0)) as proxy, monkeypatch.context() as patched:
        patched.setattr(asyncio, "sleep", nap)
        with socket.create_connection(("127.0.0.1", proxy.port)) as early:
            early.sendall(b"early")
            until(lambda: LONG in slept)
        with socket.create_connection(("127.0.0.1", proxy.port)) as later:
            later.sendall(b"later")
            assert later.recv(9) == b"5"
        overtaken.set()
        until(lambda: len(listener.heard) == 2)
    assert listener.heard == [b"later", b"early"]


def test_a_server_that_is_never_silent_is_heard_out_for_a_while(
    listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(late, "PATIENCE", 1.5)
    with LateProxy(listener.port) as proxy, socket.create_connection(("127.0.0.1", proxy.port)) as client:
        client.sendall(b"hi")
        assert client.recv(9) == b"2"
        proxy.detain()
        client.sendall(b"listen")
        until(lambda: proxy.kept == 6)
        proxy.hang_up()
        proxy.deliver()
    assert listener.heard == [b"hi", b"listen"]
