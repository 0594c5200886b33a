"""Threads that stand in line for a lock, one behind the other, and the order in which they were served."""

import threading
from typing import NamedTuple

import fencepost
from fencepost.testing.condition import until


class Served(NamedTuple):
    # The how-manieth it was to join.
    number: int
    label: str
    token: int


class Line:
    """`session` looks who waits for `name`: whoever joins is in the queue before the next one comes."""

    def __init__(self, session: fencepost.Session, name: str = "a") -> None:
        self._session = session
        self._name = name
        self._threads: list[threading.Thread] = []
        self._served: list[Served] = []

    def join(self, lock: fencepost.Lock) -> None:
        number = len(self._threads)
        self._threads.append(threading.Thread(target=self._take, args=[number, lock]))
        self._threads[-1].start()
        until(lambda: len(self._session.look(self._name).waiters) == number + 1)

    def served(self) -> list[Served]:
        """In the order of their grants, once all had theirs and gave it back."""
        for thread in self._threads:
            thread.join(60)
        return self._served

    def _take(self, number: int, lock: fencepost.Lock) -> None:
        with lock as grant:
            self._served.append(Served(number, grant.holder.label, grant.token))
