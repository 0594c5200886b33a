"""What asynchronous connections read into, and what a forked child may do with them."""

import asyncio
import os
import socket
import ssl
from weakref import WeakSet

from fencepost._runtime import fork
from fencepost._runtime.lookup import numeric

ROOM = 65_536
# Why a connection has ended, if a signal handler raised while something was said on it.
INTERRUPTED = "somebody was interrupted on it"


class Protocol(asyncio.BufferedProtocol):
    """Is given what came, as `asyncio.Protocol` is, and reads it into room that it keeps.

    That one takes 256 KiB of new memory for every read, however little comes. In many processes it is fetched from the
    system and given back each time, which costs more than the read itself: 13 µs in place of 1.4.

    Once there is an `error` the connection is over: nothing more is said on it, and nothing is left to be ended. In the
    child of a fork that is so from the beginning.
    """

    def __init__(self) -> None:
        self.error: BaseException | None = None
        # Whether all who wait were told of the end: a signal handler may raise in the midst of that.
        self._is_told = False
        self._transport: asyncio.Transport | None = None
        self._room = memoryview(bytearray(ROOM))
        _open.add(self)

    def data_received(self, data: bytes) -> None:
        raise NotImplementedError

    @property
    def is_made(self) -> bool:
        return self._transport is not None

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._room

    def buffer_updated(self, nbytes: int) -> None:
        self.data_received(self._room[:nbytes].tobytes())

    def disown(self, nothing: int) -> None:
        """In a forked child: the connection is the parent's.

        The child shares its parent's event loop down to the kernel: a socket that is taken out of it here is taken out
        of it there, and the parent is deaf. So `nothing` takes the place of the child's copy of the socket: whatever
        is done with it from now on, by us or by the loop, the parent does not notice.
        """
        self._is_told = True
        if self.error is None:
            self.error = ConnectionError("the connection belongs to the parent of this process")
            ours = None if self._transport is None else self._transport.get_extra_info("socket")
            if ours is not None and ours.fileno() >= 0:
                os.dup2(nothing, ours.fileno(), inheritable=False)


def ended_by(error: BaseException | None, otherwise: str) -> Exception:
    """What to tell users of a connection that has ended. What a signal handler raised in a callback is not theirs."""
    return error if isinstance(error, OSError | ValueError) else ConnectionError(otherwise)


async def dial(protocol: Protocol, host: str, port: int, tls: ssl.SSLContext | None, patience: float) -> None:
    """Connect it by TCP, with TLS if asked for. All addresses of the host share the time.

    An event loop would wait for the first of them, be it silent, as long as anybody waits.
    """
    loop = asyncio.get_running_loop()
    until = loop.time() + patience
    name = None if tls is None else host
    found = numeric(host, port) or await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    for left in range(len(found), 0, -1):
        family, _, _, _, address = found[-left]
        ip, at = str(address[0]), int(address[1])
        try:
            # The loop makes the socket: uvloop does not survive one that it is given, and that is closed beside it.
            async with asyncio.timeout((until - loop.time()) / left):
                await loop.create_connection(lambda: protocol, ip, at, family=family, ssl=tls, server_hostname=name)
                return
        except OSError:
            if left == 1 or protocol.is_made:
                raise
    raise OSError(f"'{host}' has no address")


_open: "WeakSet[Protocol]" = WeakSet()


def _forked() -> None:
    inherited = list(_open)
    _open.clear()
    if inherited:
        nothing = os.open(os.devnull, os.O_RDWR)
        for each in inherited:
            each.disown(nothing)
        os.close(nothing)


fork.in_child(_forked)
