"""The way between sessions and their engine: calls are held up, lost, answered to nobody, delivered twice.

A call that the network loses raises `Unavailable`, sooner or later. What was sent is not taken back by that, nor by the
cancellation of whoever sent it: it may still arrive, after everything that followed it.
"""

import asyncio
import random
from collections.abc import Callable, Collection, Coroutine, Sequence
from contextvars import Context
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from fencepost.contract._async.cell import AsyncCellEngine, AsyncCells
from fencepost.contract._async.engine import AsyncEngine
from fencepost.contract.answer import Busy, Cell, Gone, Granted, Queued, Renewal, Snapshot
from fencepost.core.claim import Claim, Request
from fencepost.core.holder import Holder
from fencepost.errors import EngineError, Unavailable
from fencepost.testing.simulation.loop import Process
from fencepost.testing.simulation.trace import Trace

# The longest that a call takes on a quiet day, each way.
QUICK = 0.05
# Until a call that is not answered raises, as engines have it.
PATIENCE = 2.0

T = TypeVar("T")
Call = Callable[[], Coroutine[Any, Any, T]]


@dataclass(frozen=True)
class Weather:
    """How likely it is that a call is lost on its way there, on its way back, comes twice, or up to `latest` late.

    All others take `slow` seconds at most, each way.
    """

    lost: float = 0.0
    unanswered: float = 0.0
    twice: float = 0.0
    late: float = 0.0
    latest: float = 0.0
    slow: float = QUICK


CALM = Weather()


class Network:
    def __init__(self, dice: random.Random, trace: Trace) -> None:
        self.weather = CALM
        self.trace = trace
        # When the schedule is over, nothing is sent any more.
        self.closed = False
        self.cut: set[Process] = set()
        self._dice = dice

    def happens(self, chance: float) -> bool:
        return chance > 0 and self._dice.random() < chance

    def delay(self) -> float:
        if self.happens(self.weather.late):
            return self._dice.uniform(0.0, self.weather.latest)
        return self.moment(self.weather.slow)

    def moment(self, most: float) -> float:
        """Often no time at all: only then does the loop's die decide what comes first."""
        return max(0.0, self._dice.uniform(-most, most))


class Remote(AsyncEngine):
    """The engine, as one process reaches it over the network."""

    def __init__(self, engine: AsyncEngine, network: Network, process: Process) -> None:
        self.engine = engine
        self.traits = engine.traits
        self.cells = RemoteCells(self)
        self._network = network
        self._process = process
        self._loop = asyncio.get_running_loop()

    async def lease_open(self, holder: Holder, ttl: float) -> None:
        await self.send("lease_open", lambda: self.engine.lease_open(holder, ttl))

    async def lease_renew(self, holder: Holder, ttl: float, claims: Collection[Claim]) -> Renewal:
        return await self.send("lease_renew", lambda: self.engine.lease_renew(holder, ttl, claims))

    async def lease_close(self, holder: Holder) -> None:
        await self.send("lease_close", lambda: self.engine.lease_close(holder))

    async def claim(self, request: Request, *, wait: bool) -> Granted | Queued | Busy | Gone:
        what = f"claim {_named(request)}{'' if wait else ' without waiting'}"
        return await self.send(what, lambda: self.engine.claim(request, wait=wait))

    async def wait(self, queued: Queued, timeout: float) -> Granted | Queued | Gone:
        what = f"wait {_named(queued.request)}"
        return await self.listen(what, lambda: self.engine.wait(queued, timeout))

    async def withdraw(self, request: Request) -> None:
        await self.send(f"withdraw {_named(request)}", lambda: self.engine.withdraw(request))

    async def release(self, claim: Claim) -> bool:
        return await self.send(f"release {claim.name}/{claim.serial}", lambda: self.engine.release(claim))

    async def release_all(self, claims: Sequence[Claim]) -> tuple[bool, ...]:
        what = f"release_all {'+'.join(claim.name for claim in claims)}/{claims[0].serial}"
        return await self.send(what, lambda: self.engine.release_all(claims))

    async def share(self, claim: Claim) -> bool:
        return await self.send(f"share {claim.name}/{claim.serial}", lambda: self.engine.share(claim))

    async def look(self, name: str) -> Snapshot:
        return await self.send(f"look {name}", lambda: self.engine.look(name))

    async def names(self, prefix: str) -> Sequence[str]:
        return await self.send("names", lambda: self.engine.names(prefix))

    async def evict(self, name: str, by: str) -> tuple[Claim, ...]:
        return await self.send(f"evict {name}", lambda: self.engine.evict(name, by))

    async def close(self) -> None:
        await self.engine.close()

    async def send(self, what: str, call: Call[T]) -> T:
        """One call, there and back."""
        network, loop = self._network, self._loop
        if network.closed:
            raise Unavailable("the schedule is over")
        weather, happens = network.weather, network.happens
        cut = self._process in network.cut
        lost = cut or happens(weather.lost)
        answered = not happens(weather.unanswered)
        network.trace(self._process.name, what, "is lost" if lost else "is sent")
        answer: asyncio.Future[T] = loop.create_future()
        if not lost:
            self._deliver(what, call, answer if answered else None)
        if happens(weather.twice) and not cut:
            self._deliver(what, call, None)
        hopeless = lost or not answered
        patience = PATIENCE if not hopeless else network.moment(PATIENCE)
        timer = loop.call_later(patience, _give_up, answer, what)
        try:
            return await answer
        finally:
            timer.cancel()

    async def listen(self, what: str, call: Call[T]) -> T:
        """A call that waits at the caller's end for as long as it takes: it ends with its caller, and comes once."""
        network = self._network
        if network.closed:
            raise Unavailable("the schedule is over")
        network.trace(self._process.name, what)
        await asyncio.sleep(network.delay())
        if network.happens(network.weather.lost):
            try:
                async with asyncio.timeout(network.moment(PATIENCE)):
                    answer = await call()
            except TimeoutError:
                raise Unavailable(f"{what} was cut short") from None
        else:
            answer = await call()
        await asyncio.sleep(network.delay())
        if self._process in network.cut or network.happens(network.weather.unanswered):
            raise Unavailable(f"the answer to {what} is lost")
        network.trace(self._process.name, what, "is answered:", _said(network.trace, answer))
        return answer

    def _deliver(self, what: str, call: Call[T], answer: "asyncio.Future[T] | None") -> None:
        """In nobody's process: neither a kill nor a stop there keeps what is on its way."""
        self._loop.create_task(self._arrive(what, call, answer), context=Context())

    async def _arrive(self, what: str, call: Call[T], answer: "asyncio.Future[T] | None") -> None:
        network = self._network
        try:
            await asyncio.sleep(network.delay())
            said = await call()
            network.trace(self._process.name, what, "arrives:", _said(network.trace, said))
            await asyncio.sleep(network.delay())
            if answer is not None and not answer.done() and self._process not in network.cut:
                answer.set_result(said)
        except Exception as error:
            network.trace(self._process.name, what, "fails:", repr(error))
            if answer is not None and not answer.done():
                answer.set_exception(error)
            elif not isinstance(error, EngineError):
                raise


class RemoteCells:
    """The cells of the engine, over the same network."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote

    async def read(self, key: str) -> Cell:
        return await self._remote.send(f"read {key}", lambda: self._cells.read(key))

    async def write(self, key: str, value: str | None, version: int) -> Cell | None:
        return await self._remote.send(f"write {key}", lambda: self._cells.write(key, value, version))

    async def watch(self, key: str, version: int, timeout: float) -> Cell:
        return await self._remote.listen(f"watch {key}", lambda: self._cells.watch(key, version, timeout))

    @property
    def _cells(self) -> AsyncCells:
        return cast(AsyncCellEngine, self._remote.engine).cells


def _give_up(answer: "asyncio.Future[Any]", what: str) -> None:
    if not answer.done():
        answer.set_exception(Unavailable(f"{what} is not answered"))


def _named(request: Request) -> str:
    return f"{'+'.join(ask.name for ask in request.asks)}/{request.serial}"


def _said(trace: Trace, answer: Any) -> str:
    match answer:
        case Granted(tokens):
            return f"granted {', '.join(map(trace.token, tokens))}"
        case Queued() | Busy() | Gone():
            return type(answer).__name__.lower()
        case bool() | None:
            return str(answer)
        case Renewal(alive, gone):
            return f"alive {alive}, gone {[(serial, name) for serial, name, _ in gone]}"
        case _:
            return "done"
