# Written by hand; the blocking twin under _sync is generated from it.
"""Any engine, decorated with faults: it is cut off, hangs, is late, refuses, or loses replies."""

from collections import Counter
from collections.abc import Collection, Sequence
from types import TracebackType
from typing import cast

from fencepost._runtime import aio as runtime
from fencepost._runtime.clock import boottime
from fencepost.contract._async.cell import AsyncCellEngine, AsyncCells, AsyncMeterEngine
from fencepost.contract._async.engine import AsyncEngine
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


class AsyncFaultyEngine(AsyncEngine):
    """Passes every call on to `engine`, unless a fault stands in its way. `close` is never disturbed.

    `yielding` puts a point before and after each call where other tasks run and a cancellation may arrive.
    `calls` is the name of every method called, in order, also where a fault stopped the call.
    Calls that hang or are delayed wait on `clock`, so that a virtual one knows that they wait.
    """

    def __init__(self, engine: AsyncEngine, *, yielding: bool = False, clock: runtime.Clock | None = None) -> None:
        self.engine = engine
        self.cells = AsyncFaultyCells(self)
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

    async def called(self, method: str, *, times: int = 1, timeout: float = 30.0) -> None:
        """Return once `method` stands in `calls` that often; `TimeoutError` after `timeout` real seconds."""
        check_count(times, "number of calls")
        deadline = Deadline.after(boottime(), check_seconds(timeout, "timeout"))
        while self.calls.count(_known(method)) < times:
            self._called.clear()
            if self.calls.count(method) < times and not await self._called.wait(deadline.left(boottime())):
                raise TimeoutError(f"{method} was not called {times} times within {timeout:g} s")

    async def lease_open(self, holder: Holder, ttl: float) -> None:
        async with AsyncPassage(self, "lease_open"):
            await self.engine.lease_open(holder, ttl)

    async def lease_renew(self, holder: Holder, ttl: float, claims: Collection[Claim]) -> Renewal:
        async with AsyncPassage(self, "lease_renew"):
            return await self.engine.lease_renew(holder, ttl, claims)

    async def lease_close(self, holder: Holder) -> None:
        async with AsyncPassage(self, "lease_close"):
            await self.engine.lease_close(holder)

    async def claim(self, request: Request, *, wait: bool) -> Granted | Queued | Busy | Gone:
        async with AsyncPassage(self, "claim"):
            return await self.engine.claim(request, wait=wait)

    async def wait(self, queued: Queued, timeout: float) -> Granted | Queued | Gone:
        async with AsyncPassage(self, "wait"):
            return await self.engine.wait(queued, timeout)

    async def withdraw(self, request: Request) -> None:
        async with AsyncPassage(self, "withdraw"):
            await self.engine.withdraw(request)

    async def release(self, claim: Claim) -> bool:
        async with AsyncPassage(self, "release"):
            return await self.engine.release(claim)

    async def release_all(self, claims: Sequence[Claim]) -> tuple[bool, ...]:
        async with AsyncPassage(self, "release_all"):
            return await self.engine.release_all(claims)

    async def share(self, claim: Claim) -> bool:
        async with AsyncPassage(self, "share"):
            return await self.engine.share(claim)

    async def look(self, name: str) -> Snapshot:
        async with AsyncPassage(self, "look"):
            return await self.engine.look(name)

    async def names(self, prefix: str) -> Sequence[str]:
        async with AsyncPassage(self, "names"):
            return await self.engine.names(prefix)

    async def evict(self, name: str, by: str) -> tuple[Claim, ...]:
        async with AsyncPassage(self, "evict"):
            return await self.engine.evict(name, by)

    async def meter(self, key: str, rate: Rate, weight: int) -> float:
        async with AsyncPassage(self, "meter"):
            return await cast(AsyncMeterEngine, self.engine).meter(key, rate, weight)

    async def close(self) -> None:
        await self.engine.close()

    async def depart(self, method: str) -> None:
        """What happens to a call on its way to the engine."""
        self.calls.append(method)
        self._called.set()
        if self.yielding:
            await runtime.sleep(0)
        # Also what does not hang passes by the clock: on one that was stopped, nothing goes on.
        flowing = self._flowing if method in self._hanging else _OPEN
        if not await self._clock.wait(flowing, self._clock.now() + runtime.time_left()):
            raise Unavailable(f"{method} is not answered in time: it hangs")
        if self._cut:
            raise Unavailable(f"{method} is not answered: the engine is cut off")
        if _take(self._refusals, method):
            raise Unavailable(f"{method} is refused: this fault was asked for, and the engine was not")

    async def arrive(self, method: str) -> None:
        """What happens to the answer on its way back."""
        if (seconds := self._delays.pop(method, 0.0)) > 0:
            await self._clock.wait(runtime.Event(), self._clock.now() + seconds)
        if self.yielding:
            await runtime.sleep(0)
        if self._cut:
            raise Unavailable(f"{method} is not answered: the engine was cut off meanwhile")
        if _take(self._losses, method):
            raise Unavailable(f"the reply of {method} is lost: this fault was asked for, and the engine did it")


class AsyncFaultyCells:
    """The cells of an engine, behind the same faults."""

    def __init__(self, engine: AsyncFaultyEngine) -> None:
        self._engine = engine

    async def read(self, key: str) -> Cell:
        async with AsyncPassage(self._engine, "cell_read"):
            return await self._cells.read(key)

    async def write(self, key: str, value: str | None, version: int) -> Cell | None:
        async with AsyncPassage(self._engine, "cell_write"):
            return await self._cells.write(key, value, version)

    async def watch(self, key: str, version: int, timeout: float) -> Cell:
        async with AsyncPassage(self._engine, "cell_watch"):
            return await self._cells.watch(key, version, timeout)

    @property
    def _cells(self) -> AsyncCells:
        return cast(AsyncCellEngine, self._engine.engine).cells


class AsyncPassage:
    """One call, there and back."""

    __slots__ = ("_engine", "_method")

    def __init__(self, engine: AsyncFaultyEngine, method: str) -> None:
        self._engine = engine
        self._method = method

    async def __aenter__(self) -> None:
        await self._engine.depart(self._method)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            await self._engine.arrive(self._method)


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
