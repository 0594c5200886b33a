"""The blocking connection: whoever comes first reads for all, and rings for the next."""

import socket
import ssl
from collections.abc import Sequence
from time import monotonic
from weakref import WeakSet

from fencepost._runtime import fork
from fencepost._runtime import threads as runtime
from fencepost._runtime.clock import LONGEST_NAP, boottime
from fencepost._runtime.readiness import READ, poll
from fencepost._runtime.timeout import BY_KERNEL, allow_writing
from fencepost._runtime.watch import Watch
from fencepost._runtime.wire import dial, send_all
from fencepost.engines.zookeeper.frame import Intake, OnEvent
from fencepost.engines.zookeeper.jute import Reply, buffer, frame
from fencepost.engines.zookeeper.waiter import Bell, Waiter

CHUNK = 65536
TRUSTED = 0.5
# How much is read of what nobody waits for: a server may never stop.
MOST_GLANCES = 16
LEAST = 0.001


class _Slot:
    """The replies to what one caller sent; kept also when the caller is gone."""

    __slots__ = ("_count", "bell", "replies", "stirred")

    def __init__(self, count: int) -> None:
        self.replies: list[Reply] = []
        self.stirred = False
        self.bell: Bell | None = None
        self._count = count

    def add(self, reply: Reply) -> None:
        self.replies.append(reply)
        if len(self.replies) == self._count:
            self.stirred = True
            self.ring()

    def ring(self) -> None:
        if self.bell is not None:
            self.bell.set()


class Connection:
    # Until it is opened; whoever makes it may be interrupted.
    _socket: socket.socket | None = None

    def __init__(self, patience: float, on_event: OnEvent) -> None:
        self.error: BaseException | None = None
        # No more callers are wanted; those who are there are served.
        self.is_retired = False
        self._patience = patience
        self._by_kernel = False
        self._intake = Intake(on_event)
        self._xid = 0
        self._read_at = monotonic()
        self._sending = runtime.Mutex()
        self._watch = Watch()
        self._generation = fork.generation()

    @property
    def last_zxid(self) -> int:
        return self._intake.last_zxid

    @property
    def is_over(self) -> bool:
        """Nobody reads while nobody waits: one that was idle for long may have been closed by the server meanwhile."""
        if self.error is None and monotonic() - self._read_at > TRUSTED and self._watch.is_vacant:
            self._glance()
        return self.is_retired or self.error is not None

    def open(self, host: tuple[str, int], tls: ssl.SSLContext | None, within: float) -> None:
        self._socket = made = dial(*host, within, tls)
        _open.add(self)
        self._by_kernel = tls is None and BY_KERNEL
        if self._by_kernel:
            made.settimeout(None)
            allow_writing(made, self._patience)
        else:
            made.settimeout(self._patience)

    def greet(self, hello: bytes, within: float) -> bytes:
        """Send the connect request; what the server answers."""
        found: list[bytes] = []
        self._intake.on_greeting = found.append
        assert self._socket is not None
        self._socket.sendall(buffer(hello))
        until = boottime() + runtime.patience(within)
        while not found:
            if not self._receive(until):
                raise TimeoutError
        return found[0]

    def call(self, requests: Sequence[bytes]) -> list[Reply]:
        slot, allowed = _Slot(len(requests)), runtime.patience(self._patience)
        try:
            with self._sending:
                # Whoever reads may end the connection at any line.
                ended, source = self.error, self._socket
                if ended is not None or source is None:
                    raise self._broken()
                frames = []
                for request in requests:
                    self._xid = xid = self._xid % 0x7FFFFFFF + 1
                    self._intake.pending.append((xid, slot))
                    frames.append(frame(xid, request))
                send_all(source, b"".join(frames), monotonic() + allowed, by_kernel=self._by_kernel)
        except BaseException as error:
            self.end(error)
            raise
        self._stay(slot, boottime() + allowed)
        if not slot.stirred:
            # A caller without time is no proof against the connection, which others use.
            if allowed >= self._patience * 0.9:
                self.end(TimeoutError())
            raise TimeoutError
        return slot.replies

    def wait(self, waiter: Waiter, until: float) -> None:
        self._stay(waiter, until)

    def end(self, error: BaseException) -> None:
        if self.error is None:
            self.error = error
        self._intake.pending.clear()
        self.close()
        self._watch.ring_all()

    def close(self) -> None:
        """Nothing is said to the server: in a forked child the connection is the parent's."""
        _open.discard(self)
        ended, self._socket = self._socket, None
        if ended is not None:
            if self._generation == fork.generation():
                try:
                    # A thread that reads on it would not notice the closing.
                    ended.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
            ended.close()

    def _stay(self, present: _Slot | Waiter, until: float) -> None:
        """Until it has news, or the time is over. Reads for all, or waits for who does."""
        watch = self._watch
        watch.present[present] = None
        try:
            while not present.stirred and (left := until - boottime()) > 0:
                if self.error is not None:
                    raise self._broken()
                # Most are alone, and need no bell.
                if watch.take(present):
                    try:
                        self._read(present, until)
                    finally:
                        watch.hand_back()
                    continue
                present.bell = bell = runtime.Event()
                if not present.stirred and not watch.is_vacant and self.error is None:
                    bell.wait(min(left, LONGEST_NAP))
        finally:
            watch.present.pop(present, None)
            watch.ring_next()

    def _read(self, present: _Slot | Waiter, until: float) -> None:
        try:
            while not present.stirred:
                if not self._receive(until):
                    return
        except BaseException as error:
            self.end(error)
            raise

    def _receive(self, until: float) -> bool:
        """Take in what comes next; False if nothing did before `until`."""
        left = until - boottime()
        if left <= 0:
            return False
        source = self._socket
        if source is None:
            raise self._broken()
        try:
            data = self._decrypt(source, left) if isinstance(source, ssl.SSLSocket) else self._plain(source, left)
        except (TimeoutError, BlockingIOError):
            return boottime() < until
        self._take_in(data)
        return True

    def _plain(self, source: socket.socket, left: float) -> bytes:
        """The socket has its time-out for those who send. The kernel's for reads begins anew with every signal."""
        if not runtime.readable(source.fileno(), min(left, LONGEST_NAP)):
            raise TimeoutError
        return source.recv(CHUNK)

    def _decrypt(self, source: ssl.SSLSocket, left: float) -> bytes:
        """One thread at a time: the cipher's state is shared by both directions."""
        if not source.pending() and not runtime.readable(source.fileno(), min(left, LONGEST_NAP)):
            raise TimeoutError
        with self._sending:
            # Of what can be decrypted only as a whole there may be no more than a part.
            source.settimeout(min(left, LONGEST_NAP))
            try:
                return source.recv(CHUNK)
            finally:
                source.settimeout(self._patience)

    def _take_in(self, data: bytes) -> None:
        if not data:
            raise ConnectionError("the server closed the connection")
        self._read_at = monotonic()
        self._intake.feed(data)

    def _glance(self) -> None:
        watch, looker = self._watch, _Slot(0)
        watch.present[looker] = None
        try:
            if not watch.take(looker):
                return
            source = self._socket
            waiting = poll()
            if source is not None:
                waiting.register(source, READ)
                for _ in range(MOST_GLANCES):
                    if not waiting.poll(0):
                        break
                    if isinstance(source, ssl.SSLSocket):
                        self._take_in(self._decrypt(source, LEAST))
                    else:
                        self._take_in(source.recv(CHUNK))
        except TimeoutError:
            # A part of what can be decrypted only as a whole.
            pass
        except (OSError, ValueError) as error:
            self.end(error)
        finally:
            watch.present.pop(looker, None)
            # Whoever came meanwhile found the role taken.
            watch.ring_next()

    def _broken(self) -> ConnectionError:
        return ConnectionError(str(self.error or "") or "the connection has ended")

    def __del__(self) -> None:
        # Whoever was interrupted on the way to closing it is told nothing: the socket is closed all the same.
        if self._socket is not None:
            self._socket.close()


_open: "WeakSet[Connection]" = WeakSet()


def _forked() -> None:
    for connection in list(_open):
        connection.close()


fork.in_child(_forked)


def connect(
    host: tuple[str, int],
    tls: ssl.SSLContext | None,
    hello: bytes,
    on_event: OnEvent,
    *,
    patience: float,
    within: float,
) -> tuple[Connection, bytes]:
    """A connection made `within` seconds, and what the server answered to `hello`."""
    connection = Connection(patience, on_event)
    until = boottime() + within
    try:
        connection.open(host, tls, within)
        return connection, connection.greet(hello, max(0.001, until - boottime()))
    except BaseException as error:
        connection.end(error)
        raise
