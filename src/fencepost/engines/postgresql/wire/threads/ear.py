"""Hearing what the server tells of its own accord: one of those who wait reads for all."""

from collections.abc import Callable
from functools import partial
from weakref import ref

from fencepost._runtime import threads as runtime
from fencepost._runtime.clock import LONGEST_NAP, boottime
from fencepost._runtime.watch import Watch
from fencepost.engines.postgresql.waiter import Waiter
from fencepost.engines.postgresql.wire.threads.connection import Connection
from fencepost.engines.postgresql.wire.watch import watch
from fencepost.errors import Unavailable


class Ear:
    """One listening connection for all who wait; what it hears is delivered as it comes."""

    def __init__(self, deliver: Callable[[bytes], object]) -> None:
        self.is_open = False
        self._deliver = deliver
        self._connection: Connection | None = None
        self._present = Watch()

    @property
    def is_deaf(self) -> bool:
        return self._connection is None

    def open(self, connection: Connection | None, *, unattended: bool = False) -> None:
        """Hear what that connection, which listens already, is told from now on. Without one, hear nothing.

        `unattended`: also while nobody waits.
        """
        self._connection = connection
        self.is_open = True
        if connection is not None and unattended:
            try:
                watch.news(connection.fileno, partial(self._attend, ref(connection)))
            except BaseException:
                self.close()
                raise

    def _attend(self, watched: "ref[Connection]") -> None:
        """In the thread that watches, which keeps no connection that everybody else has forgotten."""
        connection = watched()
        if connection is not None:
            try:
                self._hear(connection)
            finally:
                if connection is not self._connection:
                    # Its end would be told again and again, if a signal handler raised in whoever closed it.
                    connection.close()

    def wait(self, waiter: Waiter, until: float) -> None:
        """Return when the waiter has news, or at `until`. `Unavailable` if nothing can be heard any more."""
        self._present.present[waiter] = None
        try:
            while not waiter.stirred and (left := until - boottime()) > 0:
                if not self.is_open:
                    raise Unavailable("the connection on which postgresql tells of grants was lost")
                connection = self._connection
                if connection is not None and self._present.take(waiter):
                    try:
                        self._read(connection, waiter, until)
                    finally:
                        self._present.hand_back()
                    continue
                bell = waiter.bell = runtime.Event()
                if not waiter.stirred and (connection is None or not self._present.is_vacant):
                    bell.wait(min(left, LONGEST_NAP))
        finally:
            self._present.present.pop(waiter, None)
            self._present.ring_next()

    def close(self) -> None:
        self.is_open = False
        connection, self._connection = self._connection, None
        if connection is not None:
            # Whoever reads from it finds its end at once.
            connection.wake()
            if self._present.is_vacant:
                connection.close()

    def _read(self, connection: Connection, waiter: Waiter, until: float) -> None:
        """A thread between the server and whoever waits would have to be woken first."""
        while self.is_open and not waiter.stirred and (left := until - boottime()) > 0:
            if connection.is_told(min(left, LONGEST_NAP)):
                self._hear(connection)
        if not self.is_open:
            connection.close()

    def _hear(self, connection: Connection) -> None:
        try:
            for notice in connection.notices():
                self._deliver(notice)
        except Unavailable:
            self.close()
        except BaseException:
            # A signal handler raised: what was read may be news for others, who look for it once nothing is heard.
            self.close()
            raise
