"""Workers that take one lock in turn while servers fail, and what must be true of it afterwards."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import fencepost
from fencepost import FencepostError, Session
from fencepost.drivers.etcd import request
from fencepost.errors import EngineError
from fencepost.testing.condition import until
from fencepost.testing.etcd import client
from tests.support.tenure import Tenure, check

NAME = "traffic"
# Servers elect, restart and wake up within seconds, on a busy machine within some more.
PATIENCE = 90.0


class Traffic:
    def __init__(self, url: str, *, workers: int, ttl: float) -> None:
        self.url = url
        self.ttl = ttl
        self.held: list[Tenure] = []
        self.errors: list[BaseException] = []
        # How often each worker has asked and got nothing.
        self.refusals = [0] * workers
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._work, args=[number]) for number in range(workers)]

    def _work(self, number: int) -> None:
        try:
            with fencepost.connect(self.url, ttl=self.ttl, holder=f"worker {number}") as session:
                while not self._stop.is_set():
                    self._once(number, session)
        except FencepostError:
            # Closing may fail with the servers; what was held ends with its lease.
            pass
        except BaseException as error:
            self.errors.append(error)

    def _once(self, number: int, session: Session) -> None:
        try:
            grant = session.lock(NAME).acquire(timeout=self.ttl)
        except FencepostError:
            self.refusals[number] += 1
            time.sleep(0.02)
            return
        tenure = Tenure(grant)
        for _ in range(5):
            if not tenure.goes_on():
                break
            time.sleep(0.002)
        self.held.append(tenure)
        try:
            grant.release()
        except FencepostError:
            pass

    def flows(self, count: int = 5) -> None:
        """Until that many more grants were had."""
        before = len(self.held)
        until(lambda: len(self.held) >= before + count, PATIENCE)

    def stands_still(self) -> None:
        """What was under way may still end. Then each has asked in vain, and asks in vain again."""
        # The first of two refusals may be of one who asked before this.
        self._until_refused(2)
        before = len(self.held)
        self._until_refused(1)
        assert len(self.held) == before, f"granted without a majority: {self.held[before:]}"

    def _until_refused(self, times: int) -> None:
        wanted = [count + times for count in self.refusals]
        until(lambda: all(count >= least for count, least in zip(self.refusals, wanted, strict=True)), PATIENCE)

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(PATIENCE)
        assert not any(thread.is_alive() for thread in self._threads)
        assert self.errors == []

    def check(self) -> None:
        """No two grants were valid at once, tokens grew in the order of grants, and nobody was left behind."""
        check(self.held)
        until(lambda: self.contenders() == [], PATIENCE)

    def contenders(self) -> list[bytes] | None:
        """None while no member answers."""
        speaker = client(url=self.url)
        start = f"{NAME}/".encode()
        try:
            return [pair.key for pair in speaker.read(request.select(start, request.prefix_end(start))).pairs]
        except EngineError:
            return None
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
