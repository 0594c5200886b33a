"""Sessions that want one lock all the time, and a history of who had it when by its own deadline."""

import itertools
import random
import threading
import time
import uuid
from typing import NamedTuple

import fencepost
from fencepost.testing.zookeeper import until


class Tenure(NamedTuple):
    """A grant: from when, and until when its holder may have believed in it."""

    token: int
    start: float
    end: float
    who: str


class Traffic:
    """A context: `count` sessions take turns, each holding for a moment, until it ends."""

    def __init__(self, url: str, count: int = 4, *, ttl: float = 3.0) -> None:
        self.history: list[Tenure] = []
        self.url = f"{url}/{uuid.uuid4().hex}"
        self._ttl = ttl
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._work, args=[f"session {each}"]) for each in range(count)]

    def __enter__(self) -> "Traffic":
        for thread in self._threads:
            thread.start()
        self.until_granted(4)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(30)

    def until_granted(self, more: int, within: float = 30.0) -> None:
        """Until that many more grants have come and gone."""
        wanted = len(self.history) + more
        until(lambda: len(self.history) >= wanted, within)

    def _work(self, who: str) -> None:
        with fencepost.connect(self.url, ttl=self._ttl, holder=who) as session:
            while not self._stop.is_set():
                try:
                    grant = session.lock("a").acquire(timeout=self._ttl)
                except fencepost.FencepostError:
                    # No majority, or no turn in time.
                    self._stop.wait(0.02)
                    continue
                self.history.append(Tenure(grant.token, grant.granted_at, self._hold(grant), who))
                try:
                    grant.release()
                except fencepost.FencepostError:
                    pass

    def _hold(self, grant: fencepost.Grant) -> float:
        """Hold it for a while, and say when it was last seen to be held."""
        start = last = grant.granted_at
        while last < start + random.choice((0.001, 0.05)):
            now = _now()
            if not grant.held:
                break
            last = now
            time.sleep(0.002)
        return last

    def check(self) -> None:
        """No two at once, and tokens in the order of grants."""
        history = sorted(self.history)
        for one, next_one in itertools.pairwise(history):
            assert one.token < next_one.token, f"{one} and {next_one} have the same token"
            assert one.end <= next_one.start, f"{next_one} was granted while {one} was"


def _now() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)
