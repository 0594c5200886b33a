"""What users do with a session: one turn after the other with something that can be held."""

import asyncio
import random
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

from fencepost.core import limit
from fencepost.core.claim import Ask, Mode
from fencepost.errors import FencepostError
from fencepost.primitives._async.acquirable import AsyncAcquirable
from fencepost.primitives._async.grants import AsyncGrants
from fencepost.primitives._async.session import AsyncSession
from fencepost.session._async.grant import AsyncGrant
from fencepost.testing.simulation.law import Asking, Laws
from fencepost.testing.simulation.loop import Process

T = TypeVar("T")

NAMES = ("a", "b")
POOL = "pool"
LEAD = "lead"
PERMITS = 3
SHAPES = ("lock", "read", "write", "pool", "all", "lead")
WAYS = ("block", "acquire", "try")
TIMEOUTS = (None, 0.0, 0.2, 3.0, 20.0)
PAUSES = (0.0, 0.01, 0.3)
HOLDS = (0.0, 0.01, 0.3, 2.0)
# Longer than a lease: it is worth most to disturb.
LONG_HOLD = 15.0


class Habits(NamedTuple):
    """What the users of one schedule do. A few things done often meet more than all things done seldom."""

    shapes: tuple[str, ...] = SHAPES
    ways: tuple[str, ...] = WAYS
    timeouts: tuple[float | None, ...] = TIMEOUTS
    holds: tuple[float, ...] = HOLDS

    @classmethod
    def drawn(cls, dice: random.Random) -> "Habits":
        if dice.random() < 0.2:
            # Everybody wants the same for longer than a lease: whoever is too sure of its own is seen at once.
            return cls(("lock",), ("block", "acquire"), (None, 20.0), (LONG_HOLD,))
        return cls(
            some(dice, SHAPES), some(dice, WAYS), some(dice, TIMEOUTS), some(dice, (*HOLDS, LONG_HOLD, LONG_HOLD))
        )


def some(dice: random.Random, things: Sequence[T]) -> tuple[T, ...]:
    """One of them at least."""
    return tuple(dice.sample(things, dice.randint(1, len(things))))


class Wish(NamedTuple):
    """Something to hold, and what is asked for it."""

    lock: AsyncAcquirable[Any]
    asks: tuple[Ask, ...]


class User:
    """One task of a process. `turn` is the one it is at, which may be cancelled at any step."""

    def __init__(self, process: Process, session: AsyncSession, laws: Laws, dice: random.Random) -> None:
        self.process = process
        self.turn: asyncio.Task[None] | None = None
        self._session = session
        self._laws = laws
        self._dice = dice

    async def take(self, turns: int, habits: Habits) -> None:
        """Take that many turns, one after the other."""
        for _ in range(turns):
            await asyncio.sleep(self._dice.choice(PAUSES))
            self.turn = asyncio.get_running_loop().create_task(self._take_turn(habits))
            await asyncio.wait([self.turn])
            if not self.turn.cancelled() and (error := self.turn.exception()) is not None:
                self._laws.breach(f"{self.process.name} met {error!r}")

    async def _take_turn(self, habits: Habits) -> None:
        pick = self._dice.choice
        timeout, hold, way = pick(habits.timeouts), pick(habits.holds), pick(habits.ways)
        shape = pick(habits.shapes)
        wish = self._wish(shape, timeout)
        # Whoever is elected says so, and steps down if it can not: each as slowly as an engine that does not answer.
        slack = limit.ANSWER + limit.MOST_PATIENCE if shape == "lead" else 0.0
        asking = self._laws.ask(self.process, wish.asks, 0.0 if way == "try" else timeout, slack)
        how = "cancelled"
        try:
            match way:
                case "block":
                    async with wish.lock as held:
                        await self._work(asking, held, hold)
                case "acquire":
                    await self._hold(asking, await wish.lock.acquire(), hold)
                case _:
                    tried = await wish.lock.try_acquire()
                    if tried is not None:
                        await self._hold(asking, tried, hold)
            how = "done"
        except FencepostError as error:
            how = type(error).__name__
        finally:
            self._laws.ended(asking, how)

    async def _hold(self, asking: Asking, held: Any, seconds: float) -> None:
        try:
            await self._work(asking, held, seconds)
        finally:
            await held.release()

    async def _work(self, asking: Asking, held: Any, seconds: float) -> None:
        self._laws.granted(asking, _each(held))
        try:
            await asyncio.sleep(seconds)
            if isinstance(held, AsyncGrant) and held.claim.ask.mode is Mode.EXCLUSIVE and self._dice.random() < 0.2:
                self._laws.shares(asking)
                await held.share()
                await asyncio.sleep(seconds)
        finally:
            self._laws.gives_back(asking)

    def _wish(self, shape: str, timeout: float | None) -> Wish:
        session, dice = self._session, self._dice
        name = dice.choice(NAMES)
        match shape:
            case "lock":
                return Wish(session.lock(name, timeout=timeout), (Ask(name),))
            case "write":
                return Wish(session.rwlock(name, timeout=timeout).write(), (Ask(name),))
            case "read":
                return Wish(session.rwlock(name, timeout=timeout).read(), (Ask(name, Mode.SHARED),))
            case "pool":
                weight = dice.choice((1, 1, 2))
                ask = Ask(POOL, Mode.COUNTED, weight, PERMITS)
                return Wish(session.semaphore(POOL, limit=PERMITS, weight=weight, timeout=timeout), (ask,))
            case "lead":
                return Wish(session.election(LEAD, value=self.process.name, timeout=timeout), (Ask(LEAD),))
            case _:
                return Wish(session.lock_all(NAMES, timeout=timeout), tuple(map(Ask, NAMES)))


def _each(held: AsyncGrant | AsyncGrants) -> Sequence[AsyncGrant]:
    return [held] if isinstance(held, AsyncGrant) else list(held.values())
