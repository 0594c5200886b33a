# Generated from src/fencepost/engines/memory/_async/engine.py by tools/unasync.py. Do not edit: run `make gen`.
"""The engine in memory: a book shared by every session of this process that names it."""

from collections.abc import Collection, Sequence
from typing import ClassVar

from fencepost._runtime import threads as runtime
from fencepost.contract.answer import Busy, Gone, Granted, Queued, Renewal, Snapshot
from fencepost.core.claim import Claim, Request
from fencepost.core.holder import Holder
from fencepost.core.rate import Rate
from fencepost.core.traits import Traits
from fencepost.core.url import Url
from fencepost.engines.memory._sync.cells import Cells
from fencepost.engines.memory.book import book


class MemoryEngine:
    """Nothing outlives the process, and within it everything is exact."""

    traits: ClassVar[Traits] = Traits(
        scope="process",
        fencing="strict",
        survives="nothing",
        order="arrival",
        death="lease",
        priority=True,
        cells=True,
        meters=True,
    )

    def __init__(self, url: Url, *, clock: runtime.Clock, patience: float) -> None:
        url.check_options()
        # What all engines at the same state have in common.
        self.locality = ",".join(host for host, _ in url.hosts) + url.path
        self._book = book(self.locality)
        self._clock = clock
        self.cells = Cells(self._book, clock)

    def lease_open(self, holder: Holder, ttl: float) -> None:
        self._book.do(self._book.open, holder, self._clock.now() + ttl)

    def lease_renew(self, holder: Holder, ttl: float, claims: Collection[Claim]) -> Renewal:
        now = self._clock.now()
        return self._book.do(self._book.renew, holder, claims, now, now + ttl)

    def lease_close(self, holder: Holder) -> None:
        self._book.do(self._book.close, holder, self._clock.now())

    def claim(self, request: Request, *, wait: bool) -> Granted | Queued | Busy | Gone:
        woken = runtime.Event() if wait else None
        answer = self._book.do(self._book.claim, request, None if woken is None else woken.set, self._clock.now())
        return answer._replace(place=woken) if isinstance(answer, Queued) else answer

    def wait(self, queued: Queued, timeout: float) -> Granted | Queued | Gone:
        woken: runtime.Event = queued.place
        deadline = self._clock.now() + timeout
        while True:
            until = min(deadline, self._book.do(self._book.next_expiry, queued))
            self._clock.wait(woken, until)
            woken.clear()
            now = self._clock.now()
            answer = self._book.do(self._book.check, queued.request, woken.set, now)
            if not isinstance(answer, Queued):
                return answer
            queued = answer._replace(place=woken)
            if now >= deadline:
                return queued

    def withdraw(self, request: Request) -> None:
        self._book.do(self._book.withdraw, request, self._clock.now())

    def release(self, claim: Claim) -> bool:
        return self._book.do(self._book.release, claim, self._clock.now())

    def release_all(self, claims: Sequence[Claim]) -> tuple[bool, ...]:
        return self._book.do(self._book.release_all, claims, self._clock.now())

    def share(self, claim: Claim) -> bool:
        return self._book.do(self._book.share, claim, self._clock.now())

    def look(self, name: str) -> Snapshot:
        return self._book.do(self._book.look, name, self._clock.now())

    def names(self, prefix: str) -> Sequence[str]:
        return self._book.do(self._book.names, prefix, self._clock.now())

    def evict(self, name: str, by: str) -> tuple[Claim, ...]:
        return self._book.do(self._book.evict, name, by, self._clock.now())

    def meter(self, key: str, rate: Rate, weight: int) -> float:
        return self._book.do(self._book.meters.take, key, rate, weight, self._clock.now())

    def close(self) -> None:
        """The book stays, for the others."""


Engine = MemoryEngine
