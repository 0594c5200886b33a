# Generated from src/fencepost/testing/_async/fault.py by tools/unasync.py. Do not edit: run `make gen`.
"""Any engine, decorated with faults: it is cut off, hangs, is late, refuses, or loses replies."""

from collections import Counter
from collections.abc import Collection, Sequence
from types import TracebackType
from typing import cast

from fencepost._runtime import threads as runtime
from fencepost._runtime.clock import boottime
from fencepost.contract._sync.cell import CellEngine, Cells, MeterEngine
from fencepost.contract._sync.engine import Engine
from fencepost.contract.answer import Busy, Cell, Gone, Granted, Queued, Renewal, Snapshot
from fencepost.core.claim import Claim, Request
from fencepost.core.deadline import Deadline
from fencepost.core.duration import check_seconds
from fencepost.core.holder import Holder
from fencepost.core.permit import check_count
from fencepost.core.rate import Rate
from fencepost.core.shown import shown
from fencepost.errors import Unavailable

METHODS = (
    "lease_open",
    "lease_renew",
    "lease_close",
    "claim",
    "wait",
    "withdraw",
    "release",
    "release_all",
    "share",
    "look",
    "names",
    "evict",
    "cell_read",
    "cell_write",
    "cell_watch",
    "meter",
)


class FaultyEngine(Engine):
    """Passes every call on to `engine`, unless a fault stands in its way. `close` is never disturbed.

    `yielding` puts a point before and after each call where other tasks run and a cancellation may arrive.
    `calls` is the name of every method called, in order, also where a fault stopped the call.
    Calls that hang or are delayed wait on `clock`, so that a virtual one knows that they wait.
    """

    def __init__(self, engine: Engine, *, yielding: bool = False, clock: runtime.Clock | None = None) -> None:
        self.engine = engine
        self.cells = FaultyCells(self)
        self.traits = engine.traits
        self.yielding = yielding
        self.calls: list[str] = []
        self._clock = clock or runtime.BootClock()
        self._cut = False
        self._refusals: Counter[str] = Counter()
        self._losses: Counter[str] = Counter()
        self._delays: dict[str, float] = {}
        self._hanging: frozenset[str] = frozenset()
        self._flowing = runtime.Event()
        self._flowing.set()
        self._called = runtime.Event()

    def cut(self) -> None:
        """From now on nothing is heard of the engine: calls are not performed, and answers on their way are lost."""
        self._cut = True

    def heal(self) -> None:
        """End every fault. What hung on its way to the engine is delivered now, late."""
        self._cut = False
        self._refusals.clear()
        self._losses.clear()
        self._delays.clear()
        self._hanging = frozenset()
        self._flowing.set()

    def lose_reply(self, method: str, times: float = 1) -> None:
        """Perform the next `times` calls of `method`, and raise `Unavailable` instead of the answer."""
        self._losses[_known(method)] = _checked(times)  # type: ignore[assignment]

    def refuse(self, method: str, times: float = 1) -> None:
        """Raise `Unavailable` on the next `times` calls of `method`, which are not performed; 0 ends it."""
        self._refusals[_known(method)] = _checked(times)  # type: ignore[assignment]

    def delay(self, method: str, seconds: float) -> None:
        """Perform the next call of `method` at once, and give its answer that many seconds later."""
        self._delays[_known(method)] = check_seconds(seconds, "seconds")

    def hang(self, *methods: str) -> None:
        """Stop calls of these methods (of all, if none is named) on their way to the engine, until `heal`."""
        self._hanging = frozenset(_known(method) for method in methods or METHODS)
        self._flowing.clear()

    def called(self, method: str, *, times: int = 1, timeout: float = 30.0) -> None:
        """Return once `method` stands in `calls` that often; `TimeoutError` after `timeout` real seconds."""
        check_count(times, "number of calls")
        deadline = Deadline.after(boottime(), check_seconds(timeout, "timeout"))
        while self.calls.count(_known(method)) < times:
            self._called.clear()
            if self.calls.count(method) < times and not self._called.wait(deadline.left(boottime())):
                raise TimeoutError(f"{method} was not called {times} times within {timeout:g} s")

    def lease_open(self, holder: Holder, ttl: float) -> None:
        with Passage(self, "lease_open"):
            self.engine.lease_open(holder, ttl)

    def lease_renew(self, holder: Holder, ttl: float, claims: Collection[Claim]) -> Renewal:
        with Passage(self, "lease_renew"):
            return self.engine.lease_renew(holder, ttl, claims)

    def lease_close(self, holder: Holder) -> None:
        with Passage(self, "lease_close"):
            self.engine.lease_close(holder)

    def claim(self, request: Request, *, wait: bool) -> Granted | Queued | Busy | Gone:
        with Passage(self, "claim"):
            return self.engine.claim(request, wait=wait)

    def wait(self, queued: Queued, timeout: float) -> Granted | Queued | Gone:
        with Passage(self, "wait"):
            return self.engine.wait(queued, timeout)

    def withdraw(self, request: Request) -> None:
        with Passage(self, "withdraw"):
            self.engine.withdraw(request)

    def release(self, claim: Claim) -> bool:
        with Passage(self, "release"):
            return self.engine.release(claim)

    def release_all(self, claims: Sequence[Claim]) -> tuple[bool, ...]:
        with Passage(self, "release_all"):
            return self.engine.release_all(claims)

    def share(self, claim: Claim) -> bool:
        with Passage(self, "share"):
            return self.engine.share(claim)

    def look(self, name: str) -> Snapshot:
        with Passage(self, "look"):
            return self.engine.look(name)

    def names(self, prefix: str) -> Sequence[str]:
        with Passage(self, "names"):
            return self.engine.names(prefix)

    def evict(self, name: str, by: str) -> tuple[Claim, ...]:
        with Passage(self, "evict"):
            return self.engine.evict(name, by)

    def meter(self, key: str, rate: Rate, weight: int) -> float:
        with Passage(self, "meter"):
            return cast(MeterEngine, self.engine).meter(key, rate, weight)

    def close(self) -> None:
        self.engine.close()

    def depart(self, method: str) -> None:
        """What happens to a call on its way to the engine."""
        self.calls.append(method)
        self._called.set()
        if self.yielding:
            runtime.sleep(0)
        # Also what does not hang passes by the clock: on one that was stopped, nothing goes on.
        flowing = self._flowing if method in self._hanging else _OPEN
        if not self._clock.wait(flowing, self._clock.now() + runtime.time_left()):
            raise Unavailable(f"{method} is not answered in time: it hangs")
        if self._cut:
            raise Unavailable(f"{method} is not answered: the engine is cut off")
        if _take(self._refusals, method):
            raise Unavailable(f"{method} is refused: this fault was asked for, and the engine was not")

    def arrive(self, method: str) -> None:
        """What happens to the answer on its way back."""
        if (seconds := self._delays.pop(method, 0.0)) > 0:
            self._clock.wait(runtime.Event(), self._clock.now() + seconds)
        if self.yielding:
            runtime.sleep(0)
        if self._cut:
            raise Unavailable(f"{method} is not answered: the engine was cut off meanwhile")
        if _take(self._losses, method):
            raise Unavailable(f"the reply of {method} is lost: this fault was asked for, and the engine did it")


class FaultyCells:
    """The cells of an engine, behind the same faults."""

    def __init__(self, engine: FaultyEngine) -> None:
        self._engine = engine

    def read(self, key: str) -> Cell:
        with Passage(self._engine, "cell_read"):
            return self._cells.read(key)

    def write(self, key: str, value: str | None, version: int) -> Cell | None:
        with Passage(self._engine, "cell_write"):
            return self._cells.write(key, value, version)

    def watch(self, key: str, version: int, timeout: float) -> Cell:
        with Passage(self._engine, "cell_watch"):
            return self._cells.watch(key, version, timeout)

    @property
    def _cells(self) -> Cells:
        return cast(CellEngine, self._engine.engine).cells


class Passage:
    """One call, there and back."""

    __slots__ = ("_engine", "_method")

    def __init__(self, engine: FaultyEngine, method: str) -> None:
        self._engine = engine
        self._method = method

    def __enter__(self) -> None:
        self._engine.depart(self._method)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self._engine.arrive(self._method)


_OPEN = runtime.Event()
_OPEN.set()


def _checked(times: float) -> float:
    if isinstance(times, bool) or not isinstance(times, int | float):
        raise TypeError(f"times is a number of calls, not {type(times).__name__}")
    if not times >= 0:
        raise ValueError(f"times is a number of calls, 0 or more, not {shown(times)}")
    return times


def _known(method: str) -> str:
    if method not in METHODS:
        raise ValueError(f"unknown engine method {shown(method)}: choose from {', '.join(METHODS)}")
    return method


def _take(faults: Counter[str], method: str) -> bool:
    """Use up one fault of this method; whether there was one."""
    if faults[method] <= 0:
        return False
    faults[method] -= 1
    return True
