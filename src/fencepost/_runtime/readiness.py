"""Waiting for sockets: by `select.poll` where there is one, else by `select.select`.

What is chosen here is chosen once, at import: where the system's own calls are there, they are used as they are.
"""

import os
import select
import socket
import time
from collections.abc import Callable
from typing import Protocol

READ: int = getattr(select, "POLLIN", 1)
WRITE: int = getattr(select, "POLLOUT", 4)
# Told without being asked for: it has ended, or was closed here.
OVER: int = getattr(select, "POLLNVAL", 32)


class _Descriptor(Protocol):
    def fileno(self) -> int: ...


class Poll(Protocol):
    """As `select.poll` has it."""

    def register(self, fd: int | _Descriptor, eventmask: int, /) -> None: ...
    def unregister(self, fd: int | _Descriptor, /) -> None: ...
    def poll(self, timeout: float | None = None, /) -> list[tuple[int, int]]: ...


class Selected:
    """What `select.poll` makes, for platforms that do not have it."""

    def __init__(self) -> None:
        self._wanted: dict[int, int] = {}

    def register(self, fd: int | _Descriptor, eventmask: int, /) -> None:
        self._wanted[_number(fd)] = eventmask

    def unregister(self, fd: int | _Descriptor, /) -> None:
        del self._wanted[_number(fd)]

    def poll(self, timeout: float | None = None, /) -> list[tuple[int, int]]:
        """Those that are ready within so many milliseconds, each with what for."""
        seconds = None if timeout is None else timeout / 1000
        wanted = self._wanted.copy()
        if not wanted and seconds is not None:
            # Windows does not wait for nothing.
            time.sleep(seconds)
            return []
        reading = [fd for fd, events in wanted.items() if events & READ]
        writing = [fd for fd, events in wanted.items() if events & WRITE]
        try:
            # Windows tells of a connection that was refused as of an exception.
            readable, writable, refused = select.select(reading, writing, writing, seconds)
        except (OSError, ValueError):
            # Another thread has closed one of them. Poll says of which; select only complains.
            over = [(fd, OVER) for fd in wanted if _is_over(fd)]
            if not over:
                raise
            return over
        ready: dict[int, int] = dict.fromkeys(readable, READ)
        for fd in {*writable, *refused}:
            ready[fd] = ready.get(fd, 0) | WRITE
        return list(ready.items())


def _number(fd: int | _Descriptor) -> int:
    return fd if isinstance(fd, int) else fd.fileno()


def _is_over(fd: int) -> bool:
    try:
        select.select([fd], [], [], 0)
    except (OSError, ValueError):
        return True
    return False


poll: Callable[[], Poll] = getattr(select, "poll", Selected)


class Alarm(Protocol):
    """A bell that wakes a wait for sockets: whoever waits has `fd` among them."""

    fd: int

    def set(self) -> None: ...
    def clear(self) -> None: ...


class _Eventfd:
    __slots__ = ("fd",)

    def __init__(self) -> None:
        # By a step of a loop, which is no call: a signal handler that raises after one would leave it open for ever.
        for self.fd in map(os.eventfd, (0,), (os.EFD_NONBLOCK | os.EFD_CLOEXEC,)):
            pass

    def set(self) -> None:
        os.eventfd_write(self.fd, 1)

    def clear(self) -> None:
        try:
            os.eventfd_read(self.fd)
        except BlockingIOError:
            pass

    def __del__(self) -> None:
        # Whoever made it may have been interrupted.
        if hasattr(self, "fd"):
            os.close(self.fd)


class SocketAlarm:
    """By a pair of sockets: the only descriptors that every platform can wait for."""

    __slots__ = ("_far", "_near", "fd")

    def __init__(self) -> None:
        self._near, self._far = socket.socketpair()
        self._near.setblocking(False)
        self._far.setblocking(False)
        self.fd = self._near.fileno()

    def set(self) -> None:
        try:
            self._far.send(b"!")
        except BlockingIOError:
            # It rings already.
            pass

    def clear(self) -> None:
        try:
            while self._near.recv(4096):
                pass
        except BlockingIOError:
            pass

    def __del__(self) -> None:
        for each in ("_near", "_far"):
            if hasattr(self, each):
                getattr(self, each).close()


alarm: Callable[[], Alarm] = _Eventfd if hasattr(os, "eventfd") else SocketAlarm
