"""A forked child has its parent's asynchronous connections, and nothing that it does with them reaches the parent."""

import asyncio
import gc
import os
import socket
import stat
import warnings
from collections.abc import Callable
from typing import cast

import pytest
import uvloop

from fencepost._runtime import fork
from fencepost._runtime.protocol import Protocol


class Listener(Protocol):
    def __init__(self) -> None:
        super().__init__()
        self.heard: asyncio.Queue[bytes] = asyncio.Queue()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self.heard.put_nowait(data)

    @property
    def transport(self) -> asyncio.Transport:
        assert self._transport is not None
        return self._transport


def as_child(work: Callable[[], bool]) -> bool:
    """Whether a forked child finds it so."""
    with warnings.catch_warnings():
        # That a child of threads may lock itself out is not what is tested: it does nothing but this, and ends.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if work() else 2
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_a_child_that_ends_a_connection_does_not_deafen_its_parent(
    loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    async def scene() -> None:
        near, far = socket.socketpair()
        far.settimeout(60)
        running = asyncio.get_running_loop()
        _, listener = await running.create_connection(Listener, sock=near)
        descriptor = near.fileno()

        def as_a_child_does() -> bool:
            is_over = listener.error is not None
            listener.transport.write(b"said by the child")
            listener.transport.abort()
            gc.collect()
            return is_over and not stat.S_ISSOCK(os.fstat(descriptor).st_mode)

        assert as_child(as_a_child_does)
        assert listener.error is None
        far.sendall(b"heard")
        assert await asyncio.wait_for(listener.heard.get(), 60) == b"heard"
        listener.transport.write(b"said by the parent")
        assert await asyncio.to_thread(far.recv, 100) == b"said by the parent"
        listener.transport.abort()
        far.close()

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(scene())


async def test_a_connection_that_is_over_is_none_of_the_child_s_business() -> None:
    near, far = socket.socketpair()
    _, listener = await asyncio.get_running_loop().create_connection(Listener, sock=near)
    listener.transport.abort()
    while near.fileno() >= 0:
        await asyncio.sleep(0)
    assert as_child(lambda: listener.error is not None)
    far.close()


def test_what_is_called_in_a_child_is_called_in_order_and_knows_that_it_is_the_child() -> None:
    seen: list[tuple[str, int]] = []
    before = fork.generation()
    fork.in_child(lambda: seen.append(("first", fork.generation())))
    fork.in_child(lambda: seen.append(("second", fork.generation())))
    assert as_child(lambda: seen == [("first", before + 1), ("second", before + 1)])
    assert seen == []
