"""One node, on a socket that never blocks: connecting, greeting and talking, a step at a time."""

import os
import socket
import ssl
from collections import deque
from collections.abc import Iterator, Sequence
from errno import EAFNOSUPPORT, EINPROGRESS, EWOULDBLOCK
from time import monotonic
from typing import Any
from weakref import WeakSet

from fencepost._runtime import fork
from fencepost._runtime.lookup import look_up, numeric
from fencepost._runtime.readiness import READ, WRITE, poll
from fencepost.engines.redis.address import Address
from fencepost.engines.redis.resp import Parser, Reply, ReplyError, is_lone_number
from fencepost.engines.redis.trouble import explain

CHUNK = 65536
# What nearly every answer fits into: see wire/threads/connection.py.
SMALL_CHUNK = 256
TRUSTED = 1.0
# What a platform says of a connection that is not made at once: the second is Windows.
UNDER_WAY = (EINPROGRESS, EWOULDBLOCK)
NOT_NOW = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
# Tickets of what is said to a node; what it answers has the ticket of what it answers to.
GREETING, NOBODY, PUSHED = 0, -1, -2


class Peer:
    """Wait for `wants` on `fileno`, then `advance`. `changed` when either has. An exception ends it."""

    __slots__ = (
        "__weakref__",
        "_opening",
        "_out",
        "_parser",
        "_tickets",
        "_used_at",
        "address",
        "changed",
        "socket",
        "wants",
    )

    def __init__(self, address: Address) -> None:
        self.address = address
        self.socket: socket.socket | None = None
        self.wants = 0
        self.changed = True
        self._parser = Parser()
        self._used_at = monotonic()
        # Each with when it was given.
        self._tickets: deque[tuple[int, float]] = deque()
        self._out = b""
        self._opening: Iterator[int] | None = self._open()
        greeting = address.greeting()
        if greeting:
            self._out = b"".join(greeting)
            self._tickets.extend([(GREETING, self._used_at)] * len(greeting))
        _alive.add(self)
        self._step()

    @property
    def is_open(self) -> bool:
        """Whether anything may have been sent."""
        return self._opening is None

    def fileno(self) -> int:
        return -1 if self.socket is None else self.socket.fileno()

    def say(self, command: bytes, ticket: int, now: float | None = None) -> bool:
        """Send, as far as it goes now; its answer will have that ticket. Whether anything has `changed`."""
        self._used_at = monotonic() if now is None else now
        self._tickets.append((ticket, self._used_at))
        if self._opening is not None or self._out:
            self._out += command
            return self.changed
        assert self.socket is not None
        try:
            sent = self.socket.send(command)
        except NOT_NOW:
            sent = 0
        if sent < len(command):
            self._out = command[sent:]
            self.wants = READ | WRITE
            self.changed = True
        return self.changed

    def advance(self) -> Sequence[tuple[int, Reply]]:
        """Go on, now that `wants` has come: whatever was answered, with its ticket."""
        if self._opening is not None:
            self._step()
            return ()
        if self._out:
            self._send_rest()
        assert self.socket is not None
        tickets = self._tickets
        try:
            data = self.socket.recv(SMALL_CHUNK)
        except NOT_NOW:
            return ()
        if len(data) == SMALL_CHUNK:
            try:
                data += self.socket.recv(CHUNK)
            except NOT_NOW:
                pass
        if tickets and is_lone_number(data) and not self._parser.is_midway:
            return ((tickets.popleft()[0], int(data[1:])),)
        return [(tickets.popleft()[0] if tickets else PUSHED, reply) for reply in self._parse(data)]

    def is_over(self, now: float, timeout: float) -> bool:
        """Whether it owes an answer for longer than that, or has ended while nobody looked."""
        if self._tickets and now - self._tickets[0][1] > timeout:
            if self._opening is not None:
                # To go on without what it waits for would take an address for one that has answered.
                return True
            # What it answered while nobody waited for it is still to be read.
            self.advance()
            return bool(self._tickets) and now - self._tickets[0][1] > timeout
        if self._tickets or now - self._used_at < TRUSTED:
            return False
        # To look each time would cost a system call. Nothing is owed, so there is nothing to read but the end.
        waiting = poll()
        waiting.register(self.fileno(), READ)
        return bool(waiting.poll(0))

    def wake(self) -> None:
        """End a wait that another thread is in."""
        if self.socket is not None:
            try:
                self.socket.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self) -> None:
        # Nothing is said to the node: in a forked child the connection is the parent's.
        _alive.discard(self)
        if self.socket is not None:
            self.socket.close()

    def __del__(self) -> None:
        # Whoever made it may have been interrupted.
        if hasattr(self, "socket") and self.socket is not None:
            self.socket.close()

    def _step(self) -> None:
        assert self._opening is not None
        self.changed = True
        try:
            self.wants = next(self._opening)
        except StopIteration:
            self._opening = None
            self.wants = READ
            if self._out:
                self._send_rest()

    def _open(self) -> Iterator[int]:
        """Connects; yields what to wait for."""
        address = self.address
        found = numeric(address.host, address.port)
        if not found:
            # Whoever asks all nodes does not wait for the name of one.
            lookup = look_up(address.host, address.port)
            self.socket = lookup.bell()
            yield READ
            self.socket.close()
            found = lookup.found()
        # Nobody is told when an address is silent: whoever comes next begins with another.
        silent = _silent.setdefault((address.host, address.port), set())
        if silent.issuperset(where for *_, where in found):
            silent.clear()
        code = 0
        for family, kind, protocol, _, where in sorted(found, key=lambda each: each[4] in silent):
            silent.add(where)
            try:
                self.socket = socket.socket(family, kind, protocol)
            except OSError as error:
                # The kernel does without that family.
                code = error.errno or EAFNOSUPPORT
                continue
            self.socket.setblocking(False)
            code = self.socket.connect_ex(where)
            if code in UNDER_WAY:
                yield WRITE
                code = self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if code == 0:
                silent.discard(where)
                break
            self.socket.close()
        if code or self.socket is None:
            raise OSError(code, os.strerror(code))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if address.tls is not None:
            yield from self._shake_hands(address.tls)

    def _shake_hands(self, tls: ssl.SSLContext) -> Iterator[int]:
        assert self.socket is not None
        encrypted = self.socket = tls.wrap_socket(
            self.socket, server_hostname=self.address.host, do_handshake_on_connect=False
        )
        while True:
            try:
                encrypted.do_handshake()
                return
            except ssl.SSLWantReadError:
                yield READ
            except ssl.SSLWantWriteError:
                yield WRITE

    def _send_rest(self) -> None:
        assert self.socket is not None
        try:
            self._out = self._out[self.socket.send(self._out) :]
        except NOT_NOW:
            pass
        self.wants = READ | (WRITE if self._out else 0)
        self.changed = True

    def _parse(self, data: bytes) -> list[Reply]:
        assert self.socket is not None
        replies: list[Reply] = []
        while True:
            if not data:
                raise ConnectionError("the server closed the connection")
            replies.extend(self._parser.feed(data))
            # An encrypted socket may hold more than the kernel knows of.
            if not (isinstance(self.socket, ssl.SSLSocket) and self.socket.pending()):
                break
            data = self.socket.recv(CHUNK)
        while self._tickets and self._tickets[0][0] == GREETING and replies:
            self._tickets.popleft()
            reply = replies.pop(0)
            if isinstance(reply, ReplyError):
                raise explain(reply, self.address)
        return replies


_alive: "WeakSet[Peer]" = WeakSet()
# The addresses of each host that have not answered since they were tried.
_silent: dict[tuple[str, int], set[Any]] = {}


def _forked() -> None:
    for peer in list(_alive):
        peer.close()


fork.in_child(_forked)
