"""One daemon thread per process that watches idle connections: for news, and for their end."""

import os
import select
import threading
from collections.abc import Callable


class Watch:
    def __init__(self) -> None:
        self._epoll: select.epoll | None = None
        self._callbacks: dict[int, Callable[[], object]] = {}
        self._starting = threading.Lock()

    def add(self, fileno: int, events: int, callback: Callable[[], object]) -> None:
        """Call back, in the watching thread, whenever one of the events of `select.poll` is there."""
        with self._starting:
            if self._epoll is None:
                self._epoll = select.epoll()
                threading.Thread(target=self._run, args=[self._epoll], name="fencepost-watch", daemon=True).start()
            self._callbacks[fileno] = callback
            self._epoll.register(fileno, events)

    def remove(self, fileno: int) -> None:
        if self._callbacks.pop(fileno, None) is not None and self._epoll is not None:
            try:
                self._epoll.unregister(fileno)
            except OSError:
                pass

    def abandon(self) -> None:
        """In a forked child: the parent goes on watching, and the thread is not here."""
        if self._epoll is not None:
            self._epoll.close()
        self._epoll = None
        self._callbacks = {}
        self._starting = threading.Lock()

    def _run(self, epoll: select.epoll) -> None:
        while True:
            for fileno, events in epoll.poll():
                callback = self._callbacks.get(fileno)
                if callback is None:
                    continue
                if events & (select.EPOLLRDHUP | select.EPOLLHUP | select.EPOLLERR):
                    # It would be told again and again: this is the last of it.
                    self.remove(fileno)
                callback()


watch = Watch()
os.register_at_fork(after_in_child=watch.abandon)
