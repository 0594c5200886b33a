# Generated from tests/support/zookeeper/_async/traffic.py by tools/unasync.py. Do not edit: run `make gen`.
"""Sessions that want one lock all the time, and a history of who had it when by its own deadline."""

import itertools
import uuid
from types import TracebackType
from typing import Self

import fencepost
from fencepost._runtime import threads as runtime
from fencepost.primitives._sync.connect import connect
from fencepost.session._sync.grant import Grant
from fencepost.testing.contract._sync.attempt import Attempt
from tests.support.tenure import Tenure, check
from tests.support.zookeeper._sync.patience import PATIENCE, so

now = runtime.BootClock.now


class Traffic:
    """A context: `count` sessions take turns, each holding for a moment, until it ends."""

    def __init__(self, url: str, count: int = 4, *, ttl: float = 9.0) -> None:
        self.history: list[Tenure] = []
        self._url = f"{url}/{uuid.uuid4().hex}"
        self._ttl = ttl
        self._stop = runtime.Event()
        self._count = count
        self._workers: list[Attempt[None]] = []
        # Some hold it for as long as it takes to say so, some for longer.
        self._moments = itertools.cycle((0.001, 0.05, 0.001, 0.001, 0.05))

    def __enter__(self) -> Self:
        for _ in range(self._count):
            self._workers.append(Attempt(self._work))
        self.until_granted(4)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        for worker in self._workers:
            worker.outcome(PATIENCE)

    def until_granted(self, more: int) -> None:
        """Until that many more grants have come and gone."""
        wanted = len(self.history) + more
        so(lambda: len(self.history) >= wanted)

    def _work(self) -> None:
        session = connect(self._url, ttl=self._ttl)
        while not self._stop.is_set():
            try:
                grant = session.lock("a").acquire(timeout=self._ttl)
            except fencepost.FencepostError:
                # No majority, or no turn in time.
                runtime.sleep(0.02)
                continue
            self.history.append(self._hold(grant))
            try:
                grant.release()
            except fencepost.FencepostError:
                pass
        session.close()

    def _hold(self, grant: Grant) -> Tenure:
        tenure = Tenure(grant)
        end_at = now() + next(self._moments)
        while tenure.goes_on() and now() < end_at:
            runtime.sleep(0.002)
        return tenure

    def check(self) -> None:
        """No two at once, and tokens in the order of grants."""
        check(self.history)
