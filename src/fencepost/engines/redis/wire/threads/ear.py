"""Listening in a process of threads: one of those who wait reads for all."""

from collections.abc import Callable

from fencepost._runtime import fork
from fencepost._runtime import threads as runtime
from fencepost._runtime.clock import LONGEST_NAP, boottime
from fencepost._runtime.watch import Watch
from fencepost.engines.redis.address import Address
from fencepost.engines.redis.pulse import PING, Pulse
from fencepost.engines.redis.resp import ReplyError, pack
from fencepost.engines.redis.trouble import explain, unreachable
from fencepost.engines.redis.waiter import Waiter
from fencepost.engines.redis.wire.threads.connection import Connection, connect
from fencepost.errors import Unavailable


class Ear:
    """One listening connection for all who wait: whoever comes first reads for all, and rings for the next."""

    def __init__(self, channel: str, deliver: Callable[[bytes], None]) -> None:
        self.channel = channel
        self.is_open = False
        # Where it listens, or did last.
        self.address: Address | None = None
        self._deliver = deliver
        self._connection: Connection | None = None
        self._pulse = Pulse(0.0, 0.0)
        self._watch = Watch()
        self._opening = runtime.Mutex()
        # How often it was closed: whoever opens it meanwhile must not leave it open.
        self._closings = 0
        self._generation = fork.generation()

    def open(self, address: Address, patience: float) -> None:
        """Listen from now on: what is published after this returns is heard."""
        if self.is_open:
            return
        closings = self._closings
        began_at = boottime()
        # Each who comes meanwhile does the same: to wait for the first would take the time of both.
        connection = connect(address, patience)
        try:
            connection.sendall(pack("SUBSCRIBE", self.channel))
            (reply,) = connection.read_all(1, began_at + patience)
        except BaseException as error:
            connection.close()
            if isinstance(error, OSError | ValueError):
                raise unreachable(error, address, min(patience, boottime() - began_at)) from error
            raise
        if isinstance(reply, ReplyError):
            connection.close()
            raise explain(reply, address)
        with self._opening:
            if self._connection is not None:
                connection.close()
                return
            self._pulse = Pulse(patience, boottime())
            self._connection = connection
            self.address = address
            self.is_open = True
        # Looked at last: whoever closes it from here on finds the connection.
        if self._closings != closings:
            self.close()
            raise Unavailable(f"the connection on which redis at {address} tells of grants was closed meanwhile")

    def wait(self, waiter: Waiter, until: float) -> None:
        """Return when the waiter has news, or at `until`. `Unavailable` if nothing can be heard any more."""
        self._watch.present[waiter] = None
        try:
            while not waiter.stirred and (left := until - boottime()) > 0:
                if not self.is_open:
                    raise Unavailable("the connection on which redis tells of grants was lost")
                if self._watch.take(waiter):
                    try:
                        # Whoever read before may have told it meanwhile.
                        if not waiter.stirred:
                            self._read(waiter, until, left)
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
        self._closings += 1
        self.is_open = False
        connection, self._connection = self._connection, None
        if connection is not None:
            if self._generation == fork.generation():
                connection.wake()
            connection.close()

    def _read(self, waiter: Waiter, until: float, left: float) -> None:
        connection = self._connection
        try:
            while connection is not None and left > 0:
                connection.patience(min(left, LONGEST_NAP))
                try:
                    for message in connection.read_messages():
                        self._deliver(message)
                    self._pulse.hear(boottime())
                except (TimeoutError, BlockingIOError):
                    if self._pulse.asks(boottime()):
                        connection.sendall(PING)
                if waiter.stirred:
                    return
                left = until - boottime()
        except BaseException as error:
            self.close()
            self._watch.ring_all()
            if isinstance(error, OSError | ValueError):
                raise Unavailable("the connection on which redis tells of grants was lost") from error
            raise
