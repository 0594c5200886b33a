"""A connected socket that blocks its one caller at a time, and no longer than it is told to."""

import math
import socket
import ssl
from time import monotonic
from weakref import WeakSet

from fencepost._runtime import fork, threads
from fencepost._runtime.lookup import resolve
from fencepost._runtime.readiness import READ, WRITE, poll
from fencepost._runtime.timeout import BY_KERNEL, DONTWAIT, allow_writing


class Wire:
    """Every read waits for the socket first, in `poll`, which counts its time on through signals. TLS has time-outs of
    Python's, which do so, too.

    The kernel's own time-out of a read begins anew after every signal, whatever its handler does: with one that comes
    again and again, such as a timer's, a read from a silent server would never end.
    """

    __slots__ = (
        "__weakref__",
        "_by_kernel",
        "_patience",
        "_readable",
        "allowed",
        "is_hurried",
        "socket",
        "until",
        "used_at",
    )

    def __init__(self, connected: socket.socket, patience: float) -> None:
        self.socket = connected
        self._by_kernel = BY_KERNEL and not isinstance(connected, ssl.SSLSocket)
        self._patience = -1.0
        waiting = poll()
        waiting.register(connected, READ)
        self._readable = waiting.poll
        self.used_at = monotonic()
        self.begin(patience)
        _open.add(self)

    def patience(self, seconds: float) -> None:
        """How long one read or write may take from now on."""
        if seconds == self._patience:
            return
        self._patience = seconds
        if self._by_kernel:
            self.socket.settimeout(None)
            allow_writing(self.socket, seconds)
        else:
            self.socket.settimeout(seconds)

    def begin(self, patience: float) -> None:
        """Before an exchange that may take so long: no read or write of it takes longer than its caller has time."""
        seconds = threads.patience(patience)
        self.until = monotonic() + seconds
        # For messages: how long it had.
        self.allowed = seconds
        self.is_hurried = seconds < patience
        if self._patience < 0 or not self._by_kernel:
            self.patience(seconds)
        else:
            # Sending seldom waits: the kernel is not told anew.
            self._patience = seconds

    def go_on(self) -> None:
        """Between two reads of an exchange: all of it together has the time that `begin` gave.

        A server that says a little now and then, or never stops, is left then.
        """
        left = self.until - monotonic()
        if left <= 0:
            raise TimeoutError
        if left < self._patience * 0.9:
            self._patience = left
            if not self._by_kernel:
                self.socket.settimeout(left)

    def receive(self, most: int) -> bytes:
        """What comes next, in the time that a read may take; `TimeoutError` if nothing does."""
        if not self._by_kernel:
            return self.socket.recv(most)
        if not self._readable(math.ceil(self._patience * 1000)):
            raise TimeoutError
        return self.socket.recv(most, DONTWAIT)

    def send(self, data: bytes, seconds: float | None = None) -> None:
        """All of it, in the time of the exchange or in so many seconds, also if the other side takes it bit by bit."""
        until = self.until if seconds is None else monotonic() + seconds
        send_all(self.socket, data, until, by_kernel=self._by_kernel)

    def is_readable(self) -> bool:
        """Whether something was said that nobody has read, or the other side has closed it."""
        waiting = poll()
        waiting.register(self.socket, READ)
        return bool(waiting.poll(0))

    def wake(self) -> None:
        """End a read that another thread is in."""
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def close(self) -> None:
        # Nothing is said to the other side: in a forked child the connection is the parent's.
        _open.discard(self)
        self.socket.close()

    def __del__(self) -> None:
        # Whoever was interrupted on the way to closing it is told nothing: the socket is closed all the same.
        if hasattr(self, "socket"):
            self.socket.close()


def dial(host: str, port: int, patience: float, tls: ssl.SSLContext | None) -> socket.socket:
    """Connected by TCP, with TLS if asked for. All addresses of the host share the time."""
    until = monotonic() + threads.patience(patience)
    made = _connect(host, port, until)
    try:
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # A handshake ends when its time is over, whatever comes.
        made.settimeout(max(0.001, until - monotonic()))
        return made if tls is None else tls.wrap_socket(made, server_hostname=host)
    except BaseException:
        made.close()
        raise


def _connect(host: str, port: int, until: float) -> socket.socket:
    found = resolve(host, port, until - monotonic())
    for left in range(len(found), 0, -1):
        family, kind, protocol, _, address = found[-left]
        made: socket.socket | None = None
        try:
            made = socket.socket(family, kind, protocol)
            made.settimeout(max(0.001, (until - monotonic()) / left))
            made.connect(address)
            return made
        except BaseException as error:
            if made is not None:
                made.close()
            if left == 1 or not isinstance(error, OSError):
                raise
    raise OSError(f"'{host}' has no address")


def send_all(to: socket.socket, data: bytes, until: float, *, by_kernel: bool) -> None:
    """All of it by then, however many signals come, and also if the other side takes it bit by bit."""
    flags = DONTWAIT if by_kernel else 0
    try:
        # Without the flag it would wait as long as whoever reads has said. So it is asked first, below.
        sent = to.send(data, flags) if flags or isinstance(to, ssl.SSLSocket) else 0
    except BlockingIOError:
        sent = 0
    if sent == len(data):
        return
    rest = memoryview(data)
    waiting = poll()
    waiting.register(to, WRITE)
    while rest := rest[sent:]:
        left = until - monotonic()
        if left <= 0 or not waiting.poll(math.ceil(left * 1000)):
            raise TimeoutError
        try:
            sent = to.send(rest, flags)
        except BlockingIOError:
            sent = 0


_open: "WeakSet[Wire]" = WeakSet()


def _forked() -> None:
    for wire in list(_open):
        wire.close()


fork.in_child(_forked)
