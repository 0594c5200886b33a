"""What a cluster tells of its own accord, heard on an event loop."""

from collections.abc import Callable

from fencepost._runtime import aio as runtime
from fencepost._runtime.lobby import Lobby
from fencepost.drivers.etcd import request
from fencepost.drivers.etcd.endpoint import Address
from fencepost.drivers.etcd.http2 import Stream
from fencepost.drivers.etcd.trouble import unreachable
from fencepost.drivers.etcd.waiter import Waiter
from fencepost.drivers.etcd.wire.aio.connection import Connection
from fencepost.drivers.etcd.wire.aio.link import Link
from fencepost.errors import Unavailable


class Ear:
    """One watch stream for all who wait; what it hears is told as it comes."""

    def __init__(self, hear: Callable[[bytes], None], ended: Callable[[], None]) -> None:
        self._hear = hear
        self._ended = ended
        self._connection: Connection | None = None
        self._stream: Stream | None = None
        self._lobby = Lobby()
        self._opening = runtime.Mutex()
        # How many watches were asked for on the stream.
        self._watches = 0

    @property
    def is_open(self) -> bool:
        return self._stream is not None

    def is_elsewhere(self, address: Address) -> bool:
        """Whether it listens at another member than this one."""
        connection = self._connection
        return connection is not None and connection.address != address

    async def watch(self, words: Callable[[int], bytes], link: Link) -> None:
        """Ask for a watch, in the words for the number that it has on the stream: see `request.watch`."""
        await self._say(lambda: words(self._count()), link)

    async def say(self, message: bytes, link: Link) -> None:
        """Send on the stream, which is opened if there is none."""
        await self._say(lambda: message, link)

    async def _say(self, words: Callable[[], bytes], link: Link) -> None:
        async with self._opening:
            if self._connection is None or self._stream is None:
                connection = await link.connect()
                connection.on_stream = self._stirred
                connection.on_end = self.close
                self._connection = connection
                self._watches = 0
                try:
                    self._stream = connection.start(request.WATCH, words(), last=False)
                except ConnectionError as error:
                    self.close()
                    raise unreachable(error, connection.address, link.patience) from error
            else:
                self._connection.say(self._stream, words())

    def _count(self) -> int:
        self._watches += 1
        return self._watches - 1

    async def wait(self, waiter: Waiter, until: float) -> None:
        """Return when the waiter is stirred, or at `until`. `Unavailable` if nothing can be heard any more."""
        await self._lobby.wait(waiter, until, self._check_open)

    def _check_open(self) -> None:
        if not self.is_open:
            raise Unavailable("the stream on which etcd tells of changes was lost")

    def close(self) -> None:
        """Hear no more. Whoever waits is told."""
        connection, self._connection, self._stream = self._connection, None, None
        if connection is None:
            return
        connection.on_end = None
        connection.end(ConnectionError("closed here"))
        self._ended()
        self._lobby.ring_all()

    def _stirred(self, stream: Stream) -> None:
        if stream is self._stream:
            for message in stream.messages():
                self._hear(message)
            if stream.done:
                self.close()
