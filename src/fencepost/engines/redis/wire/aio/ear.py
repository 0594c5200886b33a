"""Listening on an event loop: what is heard is delivered as it comes."""

import asyncio
from collections.abc import Callable

from fencepost._runtime import aio as runtime
from fencepost._runtime.lobby import Lobby
from fencepost.engines.redis.address import Address
from fencepost.engines.redis.resp import Reply, ReplyError, message_of, pack
from fencepost.engines.redis.trouble import explain, unreachable
from fencepost.engines.redis.waiter import Waiter
from fencepost.engines.redis.wire.aio.connection import Connection, connect
from fencepost.errors import Unavailable


class Ear:
    """One listening connection for all who wait; what it hears is delivered as it comes."""

    def __init__(self, channel: str, deliver: Callable[[bytes], None]) -> None:
        self.channel = channel
        self.is_open = False
        # Where it listens, or did last.
        self.address: Address | None = None
        self._deliver = deliver
        self._connection: Connection | None = None
        self._lobby = Lobby()
        self._opening = runtime.Mutex()
        # How often it was closed: whoever opens it meanwhile must not leave it open.
        self._closings = 0

    async def open(self, address: Address, patience: float) -> None:
        """Listen from now on: what is published after this returns is heard."""
        try:
            # All of it together, also the wait for another who opens it.
            async with asyncio.timeout(patience), self._opening:
                if not self.is_open:
                    await self._open(address, patience)
        except (OSError, ValueError) as error:
            raise unreachable(error, address, patience) from error

    async def _open(self, address: Address, patience: float) -> None:
        closings = self._closings
        connection = await connect(address, patience)
        connection.listen(self._heard)
        connection.on_end = self._ended
        self._connection = connection
        try:
            reply = await connection.send(pack("SUBSCRIBE", self.channel))
        except BaseException:
            self.close()
            raise
        if isinstance(reply, ReplyError):
            self.close()
            raise explain(reply, address)
        if self._closings != closings or connection.error is not None:
            connection.end(ConnectionError("closed here"))
            raise Unavailable(f"the connection on which redis at {address} tells of grants was closed meanwhile")
        self.address = address
        self.is_open = True

    async def wait(self, waiter: Waiter, until: float) -> None:
        """Return when the waiter has news, or at `until`. `Unavailable` if nothing can be heard any more."""
        await self._lobby.wait(waiter, until, self._check_open)

    def _check_open(self) -> None:
        if not self.is_open:
            raise Unavailable("the connection on which redis tells of grants was lost")

    def close(self) -> None:
        self._closings += 1
        if self._connection is not None:
            self._connection.end(ConnectionError("closed here"))

    def _heard(self, reply: Reply) -> None:
        message = message_of(reply)
        if message is not None:
            self._deliver(message)

    def _ended(self) -> None:
        self.is_open = False
        self._connection = None
        self._lobby.ring_all()
