"""One daemon thread per process that watches idle connections: for news, and for their end."""

import select
import sys
import threading
from collections.abc import Callable
from math import ceil
from time import monotonic
from typing import Protocol

from fencepost._runtime import fork
from fencepost._runtime.readiness import READ, Alarm, alarm, poll
from fencepost._runtime.state import StateLock
from fencepost._runtime.threads import start

# How long a connection is left alone on which something came that is for somebody else, in seconds.
LEFT_ALONE = 0.05


class Idle(Protocol):
    """A connection, for those who want to know of its end."""

    fileno: int

    @property
    def asked(self) -> object:
        """Another thing whenever something was asked, and None while an answer is owed."""


class Watch(Protocol):
    """Calls back in the watching thread."""

    def news(self, fileno: int, callback: Callable[[], object]) -> None:
        """Whenever there is something to read, which the callback reads."""

    def end(self, connection: Idle, callback: Callable[[], object]) -> None:
        """As soon as the other side has closed it, whoever reads from it."""

    def remove(self, fileno: int) -> None: ...

    def abandon(self) -> None:
        """In a forked child: the parent goes on watching, and the thread is not here."""


class Watched:
    """By epoll, which tells the end from what is to be read."""

    def __init__(self) -> None:
        self._epoll: select.epoll | None = None
        self._callbacks: dict[int, tuple[int, Callable[[], object]]] = {}
        self._starting = StateLock()

    def news(self, fileno: int, callback: Callable[[], object]) -> None:
        self._add(fileno, select.EPOLLIN, callback)

    def end(self, connection: Idle, callback: Callable[[], object]) -> None:
        self._add(connection.fileno, select.EPOLLRDHUP, callback)

    def _add(self, fileno: int, events: int, callback: Callable[[], object]) -> None:
        with self._starting:
            if self._epoll is None:
                epoll = select.epoll()
                start(threading.Thread(target=self._run, args=[epoll], name="fencepost-watch", daemon=True))
                self._epoll = epoll
            self._callbacks[fileno] = events, callback
            self._epoll.register(fileno, events)

    def remove(self, fileno: int) -> None:
        if self._callbacks.pop(fileno, None) is not None and self._epoll is not None:
            try:
                self._epoll.unregister(fileno)
            except OSError:
                pass

    def abandon(self) -> None:
        if self._epoll is not None:
            self._epoll.close()
        self._epoll = None
        self._callbacks = {}
        self._starting = StateLock()

    def _run(self, epoll: "select.epoll") -> None:
        while True:
            # One at a time: while one is told, others may be closed, and their numbers used again.
            for fileno, _ in epoll.poll(maxevents=1):
                wanted, callback = self._callbacks.get(fileno, (0, None))
                if callback is None:
                    continue
                if wanted == select.EPOLLRDHUP:
                    # It would be told again and again: this is the last of it.
                    self.remove(fileno)
                _tell(callback)


class Looked:
    """Where there is no epoll: what there is to read on a connection on which nobody asked anything is its end.

    An answer is left to whoever asked, so such a connection is looked at again a little later. What is still unread
    then, with nothing asked in between, is nobody's: a server says so that it closes the connection, or has closed it.
    """

    def __init__(self) -> None:
        self.abandon()

    def abandon(self) -> None:
        self._alarm: Alarm | None = None
        self._callbacks: dict[int, Callable[[], object]] = {}
        self._idle: dict[int, Idle] = {}
        # When to look again at those that are left alone, and what was asked last when there was something to read.
        self._alone: dict[int, tuple[float, object]] = {}
        self._starting = StateLock()

    def news(self, fileno: int, callback: Callable[[], object]) -> None:
        self._add(fileno, callback)

    def end(self, connection: Idle, callback: Callable[[], object]) -> None:
        self._idle[connection.fileno] = connection
        self._add(connection.fileno, callback)

    def _add(self, fileno: int, callback: Callable[[], object]) -> None:
        with self._starting:
            self._callbacks[fileno] = callback
            if self._alarm is None:
                bell = alarm()
                start(threading.Thread(target=self._run, args=[bell], name="fencepost-watch", daemon=True))
                self._alarm = bell
            self._alarm.set()

    def remove(self, fileno: int) -> None:
        self._callbacks.pop(fileno, None)
        self._idle.pop(fileno, None)
        self._alone.pop(fileno, None)
        if self._alarm is not None:
            self._alarm.set()

    def _run(self, bell: Alarm) -> None:
        while True:
            now = monotonic()
            later = {fileno: at for fileno, (at, _) in self._alone.copy().items() if at > now}
            watched = [fileno for fileno in self._callbacks.copy() if fileno not in later]
            waiting = poll()
            for fileno in (bell.fd, *watched):
                waiting.register(fileno, READ)
            ready = dict(waiting.poll(ceil((min(later.values()) - now) * 1000) if later else None))
            if ready.pop(bell.fd, 0):
                bell.clear()
            for fileno in watched:
                if fileno in ready:
                    self._look(fileno, ready[fileno])
                else:
                    # Whoever asked has read it.
                    self._alone.pop(fileno, None)

    def _look(self, fileno: int, events: int) -> None:
        callback = self._callbacks.get(fileno)
        if callback is None:
            return
        connection = self._idle.get(fileno)
        if connection is not None and events == READ:
            asked = connection.asked
            _, before = self._alone.get(fileno, (0.0, None))
            if asked is None or asked != before:
                self._alone[fileno] = monotonic() + LEFT_ALONE, asked
                return
        if connection is not None:
            # It would be told again and again: this is the last of it.
            self.remove(fileno)
        _tell(callback)


def _tell(callback: Callable[[], object]) -> None:
    try:
        callback()
    except BaseException:
        # Whatever it was: all other connections of this process are watched by this thread.
        sys.excepthook(*sys.exc_info())


watch: Watch = Watched() if hasattr(select, "epoll") else Looked()
fork.in_child(watch.abandon)
