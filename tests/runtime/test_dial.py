"""A host with several addresses: a silent one is left for the next, in both flavours."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
import uvloop

from fencepost._runtime import protocol, wire

pytestmark = pytest.mark.slow

# Half of it goes to the first of two addresses, and no machine is too busy to connect in the other.
PATIENCE = 6.0
HOST = "two.example"


class Listener(protocol.Protocol):
    @property
    def transport(self) -> Any:
        return self._transport

    def connection_made(self, transport: Any) -> None:
        self._transport = transport


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """The second address of the host. The first has no room for a connection, and says nothing."""
    with ExitStack() as stack:
        full, server = (stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=each)) for each in (0, 100))
        for _ in range(10):
            guest = stack.enter_context(socket.socket())
            guest.setblocking(False)
            guest.connect_ex(full.getsockname())

        def look_up(host: str, port: int, *args: Any, **options: Any) -> list[Any]:
            if options.get("flags"):
                raise socket.gaierror("not a number")
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", each.getsockname()) for each in (full, server)]

        monkeypatch.setattr(socket, "getaddrinfo", look_up)
        yield server


async def test_a_task_leaves_a_silent_address(server: socket.socket) -> None:
    made = Listener()
    await protocol.dial(made, HOST, 1, None, PATIENCE)
    assert made.transport.get_extra_info("peername") == server.getsockname()
    assert made.transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    made.transport.abort()


def test_a_thread_leaves_a_silent_address(server: socket.socket) -> None:
    with wire.dial(HOST, 1, PATIENCE, None) as made:
        assert made.getpeername() == server.getsockname()


class Uvloop(uvloop.Loop):
    async def getaddrinfo(self, host: Any, port: Any, **options: Any) -> Any:
        return socket.getaddrinfo(host, port, **options)


def test_under_uvloop_a_silent_address_is_left(server: socket.socket) -> None:
    async def dial() -> None:
        made = Listener()
        await protocol.dial(made, HOST, 1, None, PATIENCE)
        assert made.transport.get_extra_info("peername") == server.getsockname()
        made.transport.abort()

    with asyncio.Runner(loop_factory=Uvloop) as runner:
        runner.run(dial())


@pytest.fixture
def of_no_family(server: socket.socket, monkeypatch: pytest.MonkeyPatch) -> socket.socket:
    """The first address is of a family that no kernel connects to."""
    found = socket.getaddrinfo(HOST, 1)
    first = (socket.AF_ALG, *found[0][1:])
    monkeypatch.setattr(
        socket, "getaddrinfo", lambda *args, **options: [] if options.get("flags") else [first, found[1]]
    )
    return server


async def test_a_task_leaves_an_address_of_a_family_that_is_not_there(of_no_family: socket.socket) -> None:
    made = Listener()
    await protocol.dial(made, HOST, 1, None, PATIENCE)
    assert made.transport.get_extra_info("peername") == of_no_family.getsockname()
    made.transport.abort()


def test_a_thread_leaves_an_address_of_a_family_that_is_not_there(of_no_family: socket.socket) -> None:
    with wire.dial(HOST, 1, PATIENCE, None) as made:
        assert made.getpeername() == of_no_family.getsockname()
