"""What a cluster tells of its own accord: one of those who wait reads for all."""

from collections.abc import Callable
from time import monotonic

from fencepost._runtime import fork
from fencepost._runtime import threads as runtime
from fencepost._runtime.clock import LONGEST_NAP, boottime
from fencepost._runtime.state import StateLock
from fencepost._runtime.watch import Watch
from fencepost.drivers.etcd import request
from fencepost.drivers.etcd.endpoint import Address
from fencepost.drivers.etcd.http2 import Stream
from fencepost.drivers.etcd.trouble import unreachable
from fencepost.drivers.etcd.waiter import Waiter
from fencepost.drivers.etcd.wire.threads.connection import Connection
from fencepost.drivers.etcd.wire.threads.link import Link
from fencepost.errors import Unavailable

# How long whoever listens stays for a server that does not read what it has asked for, in seconds.
REPLY = 1.0


class Ear:
    """One watch stream for all who wait: whoever comes first reads for all, and rings for the next."""

    def __init__(self, hear: Callable[[bytes], None], ended: Callable[[], None]) -> None:
        self._hear = hear
        self._ended = ended
        self._connection: Connection | None = None
        self._stream: Stream | None = None
        self._watch = Watch()
        self._opening = runtime.Turn(Unavailable)
        # The conversation is one: what is read and what is said must not get into it at the same time.
        self._talking = StateLock()
        self._generation = fork.generation()
        # How many watches were asked for on the stream.
        self._watches = 0

    @property
    def is_open(self) -> bool:
        return self._stream is not None

    def is_elsewhere(self, address: Address) -> bool:
        """Whether it listens at another member than this one."""
        connection = self._connection
        return connection is not None and connection.address != address

    def watch(self, words: Callable[[int], bytes], link: Link) -> None:
        """Ask for a watch, in the words for the number that it has on the stream: see `request.watch`."""
        self._say(lambda: words(self._count()), link)

    def say(self, message: bytes, link: Link) -> None:
        """Send on the stream, which is opened if there is none."""
        self._say(lambda: message, link)

    def _count(self) -> int:
        self._watches += 1
        return self._watches - 1

    def _say(self, words: Callable[[], bytes], link: Link) -> None:
        with self._opening:
            connection, stream = self._connection, self._stream
            if connection is None or stream is None:
                connection, stream = link.connect(), None
                self._watches = 0
            allowed = runtime.patience(link.patience)
            try:
                message = words()
                with self._talking:
                    connection.until = monotonic() + allowed
                    if stream is None:
                        stream = connection.start(request.WATCH, message, last=False)
                    else:
                        connection.say(stream, message)
            except BaseException as error:
                self._connection = connection
                self.close()
                if isinstance(error, OSError | ValueError):
                    raise unreachable(error, connection.address, allowed) from error
                raise
            self._connection, self._stream = connection, stream

    def wait(self, waiter: Waiter, until: float) -> None:
        """Return when the waiter is stirred, or at `until`. `Unavailable` if nothing can be heard any more."""
        self._watch.present[waiter] = None
        try:
            while not waiter.stirred and (left := until - boottime()) > 0:
                if not self.is_open:
                    raise Unavailable("the stream on which etcd tells of changes was lost")
                if self._watch.take(waiter):
                    try:
                        self._read(waiter, until)
                    finally:
                        self._watch.hand_back()
                    continue
                waiter.bell = runtime.Event()
                if not waiter.stirred and not self._watch.is_vacant:
                    waiter.bell.wait(min(left, LONGEST_NAP))
        finally:
            self._watch.present.pop(waiter, None)
            self._watch.ring_next()

    def close(self) -> None:
        """Hear no more. Whoever waits is told."""
        connection, self._connection, self._stream = self._connection, None, None
        if connection is None:
            return
        if self._generation == fork.generation():
            connection.wake()
        connection.close()
        self._ended()
        self._watch.ring_all()

    def _read(self, waiter: Waiter, until: float) -> None:
        try:
            while not waiter.stirred and (left := until - boottime()) > 0:
                connection, stream = self._connection, self._stream
                if connection is None or stream is None:
                    return
                try:
                    data = connection.receive_within(min(left, LONGEST_NAP), self._talking)
                except (TimeoutError, BlockingIOError):
                    continue
                with self._talking:
                    connection.until = monotonic() + REPLY
                    connection.take_in(data)
                    messages = stream.messages()
                for message in messages:
                    self._hear(message)
                if stream.done:
                    raise ConnectionError("the server ended the stream")
        except BaseException as error:
            self.close()
            if isinstance(error, OSError | ValueError):
                raise Unavailable("the stream on which etcd tells of changes was lost") from error
            raise
