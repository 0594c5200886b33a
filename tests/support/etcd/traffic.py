"""Workers that take one lock in turn while servers fail, and what must be true of it afterwards."""

import itertools
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import fencepost
from fencepost import FencepostError, Session
from fencepost._runtime.clock import boottime
from fencepost.drivers.etcd import request
from fencepost.testing.condition import until
from fencepost.testing.etcd import client

NAME = "traffic"


@dataclass
class Held:
    """One grant: from when until when its holder could take the lock for its own."""

    token: int
    since: float
    until: float


class Traffic:
    def __init__(self, url: str, *, workers: int, ttl: float) -> None:
        self.url = url
        self.ttl = ttl
        self.held: list[Held] = []
        self.errors: list[BaseException] = []
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._work, args=[number]) for number in range(workers)]

    def _work(self, number: int) -> None:
        try:
            with fencepost.connect(self.url, ttl=self.ttl, holder=f"worker {number}") as session:
                while not self._stop.is_set():
                    self._once(session)
        except FencepostError:
            # Closing may fail with the servers; what was held ends with its lease.
            pass
        except BaseException as error:
            self.errors.append(error)

    def _once(self, session: Session) -> None:
        try:
            grant = session.lock(NAME).acquire(timeout=self.ttl)
        except FencepostError:
            time.sleep(0.02)
            return
        held = Held(grant.token, boottime(), 0.0)
        for _ in range(5):
            if not grant.held:
                break
            held.until = boottime()
            time.sleep(0.002)
        self.held.append(held)
        try:
            grant.release()
        except FencepostError:
            pass

    def flows(self, count: int = 5) -> None:
        """Until that many more grants were had."""
        before = len(self.held)
        until(lambda: len(self.held) >= before + count, 40)

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(60)
        assert not any(thread.is_alive() for thread in self._threads)
        assert self.errors == []

    def check(self) -> None:
        """No two grants were valid at once, tokens grew in the order of grants, and nobody was left behind."""
        line = sorted(self.held, key=lambda each: each.since)
        for one, other in itertools.pairwise(line):
            assert one.token < other.token, f"tokens out of order: {one} before {other}"
            assert one.until < other.since, f"held twice: {one} and {other}"
        until(lambda: self.contenders() == [], self.ttl * 2 + 5)

    def contenders(self) -> list[bytes]:
        speaker = client(url=self.url)
        start = f"{NAME}/".encode()
        try:
            return [pair.key for pair in speaker.read(request.select(start, request.prefix_end(start))).pairs]
        finally:
            speaker.close()


@contextmanager
def traffic(url: str, *, workers: int = 3, ttl: float = 3.0) -> Iterator[Traffic]:
    """Workers at it, from before the block until after it; then what must be true is checked."""
    going = Traffic(url, workers=workers, ttl=ttl)
    going.start()
    try:
        going.flows()
        yield going
    finally:
        going.end()
    going.check()
