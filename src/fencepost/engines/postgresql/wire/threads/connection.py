"""Blocking connections: the thread that asks reads the answer."""

import math
import socket
from collections.abc import Callable
from time import monotonic
from weakref import WeakSet

from psycopg import OperationalError, pq

from fencepost._runtime import fork
from fencepost._runtime import threads as runtime
from fencepost._runtime.clock import LONGEST_NAP, boottime
from fencepost._runtime.readiness import READ, WRITE, poll
from fencepost.engines.postgresql.address import Address
from fencepost.engines.postgresql.dial import dial
from fencepost.engines.postgresql.query import Parameter, Query, bound, check
from fencepost.engines.postgresql.trouble import ServerError, late, lost
from fencepost.engines.postgresql.wire.size import LARGEST, received
from fencepost.engines.postgresql.wire.watch import watch
from fencepost.errors import Unavailable

TUPLES_OK = int(pq.ExecStatus.TUPLES_OK)
COPYING = (pq.ExecStatus.COPY_IN, pq.ExecStatus.COPY_OUT, pq.ExecStatus.COPY_BOTH)
LEAST_DIAL = 1.0
# A statement of that name is prepared already.
PREPARED = "42P05"
# The schema is made once, and whoever comes while it is being made waits for that. In ms.
SCRIPT_PATIENCE = 5000


class Connection:
    """One session at the server. `pooled`: a pooler may be in between, for all that we know."""

    __slots__ = (
        "__weakref__",
        "_asked_at",
        "_bound",
        "_conn",
        "_is_open",
        "_owing",
        "_patience",
        "_poll",
        "_prepared",
        "_turn",
        "_wait",
        "address",
        "fileno",
        "pid",
        "pooled",
        "used_at",
    )

    def __init__(self, conn: pq.abc.PGconn, address: Address, patience: float) -> None:
        self._conn = conn
        self._is_open = False
        # So that no send waits for a server that does not read, for ever.
        conn.nonblocking = 1
        self.address = address
        # Of our own: libpq closes its descriptor as soon as it sees the end, and the number is used again. By a step of
        # a loop, which is no call: a signal handler that raises after one would leave it open for ever.
        for self.fileno in map(socket.dup, (conn.socket,)):
            self._is_open = True
        self.pid = conn.backend_pid
        self.pooled = True
        self.used_at = monotonic()
        self._patience = max(1, math.ceil(patience * 1000))
        self._bound = bound(patience)
        self._poll = poll()
        self._poll.register(self.fileno, READ)
        self._wait = self._poll.poll
        # Empty while a pooler may be in between.
        self._prepared: set[bytes] = set()
        # Others may be in no hurry. Whoever has no turn in its time is as good as not answered.
        self._turn = runtime.Turn(Unavailable, patience)
        # Whether an answer is to come; the name, if that is about a statement that is being prepared: whoever asked may
        # not have stayed. A signal handler may have raised before it was asked for, or after it was read.
        self._owing: bool | bytes = False
        self._asked_at = monotonic()
        _open.add(self)

    @property
    def is_open(self) -> bool:
        return self._is_open and self._conn.status == pq.ConnStatus.OK

    def call(self, query: Query, *parameters: Parameter) -> pq.abc.PGresult:
        """The result of one statement. `Unavailable` if it does not come in time: then it is owed."""
        with self._turn:
            result = self.ask(query, parameters, self._patience)
        if result is None:
            raise late(self.address, self.waited)
        return result

    @property
    def waited(self) -> float:
        """How many seconds ago `ask` asked: less than we would have had patience for, if its caller had less time."""
        return min(self._patience / 1000, monotonic() - self._asked_at)

    def ask(self, query: Query, parameters: tuple[Parameter, ...], milliseconds: int) -> pq.abc.PGresult | None:
        """The result, or None if it is not there in time: then it is owed, and `finish` may wait for it.

        For whoever has the connection to itself. All that locks do comes along here: the frequent case stands first.
        """
        conn = self._conn
        try:
            if self._owing or query.name not in self._prepared:
                self._make_ready(query)
            self._asked_at = asked_at = monotonic()
            until = asked_at + milliseconds / 1000
            self._owing = True
            if self.pooled:
                conn.send_query_params(query.alone(self._bound), parameters)
            else:
                conn.send_query_prepared(query.name, parameters)
            if conn.flush() and not self._flush(until):
                return None
            if not self._wait(_hurry(milliseconds)):
                return None
            conn.consume_input()
            if conn.is_busy():
                return self._read(until)
            result = conn.get_result()
            if result is None or result.status != TUPLES_OK or conn.is_busy() or conn.get_result() is not None:
                return self._read(until, result)
            self._owing = False
            return result
        except OperationalError as error:
            raise lost(self.address, str(error)) from error

    def script(self, text: str, patience: float = 0.0) -> pq.abc.PGresult:
        """The last result of several statements in one go, one transaction. For whoever has it to itself."""
        try:
            if self._owing:
                self._pay()
            self._owing = True
            self._asked_at = monotonic()
            self._conn.send_query(text.encode())
            result = self._read(monotonic() + (patience or max(self._patience, SCRIPT_PATIENCE) / 1000))
        except OperationalError as error:
            raise lost(self.address, str(error)) from error
        if result is None:
            raise late(self.address, self.waited)
        return result

    def finish(self, until: float) -> pq.abc.PGresult | None:
        """The result that `ask` did not stay for, or None if it is not there at `until`."""
        try:
            while True:
                left = until - boottime()
                result = self._read(monotonic() + min(left, LONGEST_NAP))
                if result is None and not self._owing:
                    # A signal handler raised, before it was asked for or after it was read.
                    raise lost(self.address, "its answer was lost with whoever waited for it")
                if result is not None or left <= 0:
                    return result
        except OperationalError as error:
            raise lost(self.address, str(error)) from error

    def _make_ready(self, query: Query) -> None:
        if self._owing:
            self._pay()
        if not self.pooled and query.name not in self._prepared:
            self._asked_at = monotonic()
            self._owing = query.name
            self._conn.send_prepare(query.name, query.text)
            self._pay(own=True)

    def _pay(self, *, own: bool = False) -> None:
        """Read what is owed. An error in it is for whoever asked, who may not have stayed."""
        preparing, began_at = self._owing, monotonic()
        try:
            answered = self._read(began_at + self._patience / 1000) is not None
            if self._owing:
                raise late(self.address, min(self._patience / 1000, monotonic() - began_at))
        except ServerError as error:
            answered = error.state == PREPARED
            if own and not answered:
                raise
        if answered and isinstance(preparing, bytes):
            self._prepared.add(preparing)

    def _read(self, until: float, result: pq.abc.PGresult | None = None) -> pq.abc.PGresult | None:
        """The last result of what was sent, or the first error among them; None if it is not all there at `until`."""
        conn = self._conn
        if conn.flush() and not self._flush(until):
            return None
        before: int | None = None
        while True:
            while not conn.is_busy():
                found = conn.get_result()
                if found is None:
                    self._owing = False
                    return None if result is None else check(result)
                if found.status in COPYING:
                    # There is no end to it, unless we take part.
                    raise self._left("it copies data that nobody asked for")
                if result is None or result.status != pq.ExecStatus.FATAL_ERROR:
                    result = found
            if not self._wait(_left(until)):
                return None
            conn.consume_input()
            count = received(self.fileno)
            before = count if before is None else before
            if count - before > LARGEST:
                raise self._left(f"its answer has more than {LARGEST} bytes")

    def _flush(self, until: float) -> bool:
        """Send what did not go at once; whether all of it went in time."""
        waiting = poll()
        waiting.register(self.fileno, READ | WRITE)
        while self._conn.flush():
            if not (ready := waiting.poll(_left(until))):
                return False
            if ready[0][1] & READ:
                # It may not read before we do.
                self._conn.consume_input()
        return True

    def _left(self, why: str) -> Unavailable:
        """It is no server of ours: nothing that it says further is read."""
        self.close()
        return lost(self.address, why)

    def is_over(self) -> bool:
        """Whether the server has closed it, or said something nobody asked for."""
        return not self.is_open or bool(self._poll.poll(0))

    def is_told(self, timeout: float) -> bool:
        """Whether there is something to hear, within `timeout` seconds."""
        return bool(self._wait(math.ceil(timeout * 1000)))

    def notices(self) -> list[bytes]:
        """What has been heard on channels that it listens to."""
        try:
            self._conn.consume_input()
        except OperationalError as error:
            raise lost(self.address, str(error)) from error
        found = []
        while (notify := self._conn.notifies()) is not None:
            found.append(notify.extra)
        return found

    def hears(self, speak: Callable[[], None], seconds: float) -> bool:
        """Whether anything is told on a channel that it listens to, within `seconds` after somebody spoke."""
        speak()
        until = monotonic() + runtime.patience(seconds)
        while (left := until - monotonic()) > 0:
            if self.is_told(left) and self.notices():
                return True
        return False

    def on_end(self, callback: Callable[[], object]) -> None:
        """Call back as soon as the server ends the connection, also while nobody reads from it."""
        watch.end(self, callback)

    @property
    def asked(self) -> float | None:
        """When something was asked last, for those who watch for the end; None while an answer is owed."""
        return None if self._owing else self._asked_at

    def wake(self) -> None:
        """End it for a thread that reads from it: that one closes it."""
        if self._is_open:
            try:
                with socket.socket(fileno=socket.dup(self.fileno)) as twin:
                    twin.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            try:
                watch.remove(self.fileno)
                _open.discard(self)
            finally:
                # Also if a signal handler raises: as long as one of the two is open, the server keeps what is locked.
                try:
                    socket.close(self.fileno)
                finally:
                    self._conn.finish()

    def __del__(self) -> None:
        # Whoever was interrupted on the way to closing it is told nothing: it is closed all the same.
        if getattr(self, "_is_open", False):
            self.close()

    def disown(self) -> None:
        """In a forked child: the connection is the parent's, so nothing is said, and the child's copy is shut."""
        self._is_open = False
        for descriptor in {self.fileno, self._conn.socket if self._conn.status == pq.ConnStatus.OK else self.fileno}:
            socket.close(descriptor)


def _hurry(milliseconds: int) -> int:
    """Less than that if the caller has less time."""
    left = runtime.time_left()
    return milliseconds if left * 1000 >= milliseconds else math.ceil(left * 1000)


def _left(until: float) -> int:
    return _hurry(max(0, math.ceil((until - monotonic()) * 1000)))


_open: "WeakSet[Connection]" = WeakSet()


def _forked() -> None:
    for connection in list(_open):
        connection.disown()
    _open.clear()


fork.in_child(_forked)


def connect(address: Address, patience: float) -> Connection:
    """A connection that the server has let in. That takes a new process there, so it gets a little longer."""
    patience, wanted = max(patience, LEAST_DIAL), patience
    steps = dial(address, runtime.patience(patience))
    try:
        fileno, event, seconds = next(steps)
        while True:
            waiting = poll()
            waiting.register(fileno, event)
            fileno, event, seconds = steps.send(bool(waiting.poll(math.ceil(runtime.patience(seconds) * 1000))))
    except StopIteration as done:
        return Connection(done.value, address, wanted)
    finally:
        steps.close()
