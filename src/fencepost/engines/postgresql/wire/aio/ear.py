"""Hearing what the server tells of its own accord."""

from collections.abc import Callable

from fencepost._runtime.lobby import Lobby
from fencepost.engines.postgresql.waiter import Waiter
from fencepost.engines.postgresql.wire.aio.connection import Connection
from fencepost.errors import Unavailable


class Ear:
    """One listening connection for all who wait; what it hears is delivered as it comes."""

    def __init__(self, deliver: Callable[[bytes], object]) -> None:
        self.is_open = False
        self._deliver = deliver
        self._connection: Connection | None = None
        self._lobby = Lobby()

    @property
    def is_deaf(self) -> bool:
        return self._connection is None

    def open(self, connection: Connection | None, *, unattended: bool = False) -> None:
        """Hear what that connection, which listens already, is told from now on. Without one, hear nothing.

        `unattended`: also while nobody waits, which the event loop does anyway.
        """
        self._connection = connection
        self.is_open = True
        if connection is None:
            return
        connection.on_notice = self._deliver
        connection.on_end(self._ended)

    async def wait(self, waiter: Waiter, until: float) -> None:
        """Return when the waiter has news, or at `until`. `Unavailable` if nothing can be heard any more."""
        await self._lobby.wait(waiter, until, self._check_open)

    def _check_open(self) -> None:
        if not self.is_open:
            raise Unavailable("the connection on which postgresql tells of grants was lost")

    def close(self) -> None:
        self.is_open = False
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _ended(self) -> None:
        self.close()
        self._lobby.ring_all()
