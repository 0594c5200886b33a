"""Holders of both flavours that want one lock all the time, and what each of them believed, and when."""

import asyncio
import threading
import time

import fencepost
from fencepost._runtime.clock import boottime
from tests.support.tenure import Tenure, check


class Traffic:
    """A context: two blocking and two asynchronous sessions take turns until it ends."""

    def __init__(self, url: str, *, ttl: float, hold: float = 0.05) -> None:
        self._url = url
        self._ttl = ttl
        self._hold = hold
        self._stop = threading.Event()
        self.grants: list[Tenure] = []
        self.errors: list[fencepost.FencepostError] = []
        self._threads = [threading.Thread(target=self._block, args=[number]) for number in range(2)]
        self._threads += [threading.Thread(target=lambda: asyncio.run(self._run()))]

    def __enter__(self) -> "Traffic":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(90)

    def until_more(self, count: int = 4, within: float = 90.0) -> None:
        """Until that many more grants were seen to begin and end."""
        wanted = len(self.grants) + count
        deadline = time.monotonic() + within
        while len(self.grants) < wanted:
            assert time.monotonic() < deadline, f"{len(self.grants)} grants; the last errors: {self.errors[-3:]}"
            time.sleep(0.01)

    def check(self) -> None:
        """No two held at once, each by its own deadline, and tokens grow in the order of grants."""
        check(self.grants)

    def _block(self, number: int) -> None:
        with fencepost.connect(self._url, ttl=self._ttl, holder=f"thread {number}") as session:
            while not self._stop.is_set():
                try:
                    with session.lock("a", timeout=2 * self._ttl) as held:
                        tenure, end_at = Tenure(held), boottime() + self._hold
                        while tenure.goes_on() and boottime() < end_at:
                            time.sleep(0.005)
                        self.grants.append(tenure)
                except fencepost.FencepostError as error:
                    self.errors.append(error)
                    self._stop.wait(0.05)

    async def _run(self) -> None:
        await asyncio.gather(*(self._task(number) for number in range(2)))

    async def _task(self, number: int) -> None:
        async with fencepost.connect_async(self._url, ttl=self._ttl, holder=f"task {number}") as session:
            while not self._stop.is_set():
                try:
                    async with session.lock("a", timeout=2 * self._ttl) as held:
                        tenure, end_at = Tenure(held), boottime() + self._hold
                        try:
                            while tenure.goes_on() and boottime() < end_at:
                                await asyncio.sleep(0.005)
                        finally:
                            self.grants.append(tenure)
                except fencepost.FencepostError as error:
                    self.errors.append(error)
                    await asyncio.sleep(0.05)
