"""One schedule: a storm, and what must be so after it."""

import asyncio
import random
import traceback
import uuid
from collections.abc import Callable
from typing import Any

from fencepost._runtime import aio
from fencepost.contract import registry
from fencepost.contract._async.engine import AsyncEngine
from fencepost.core import event
from fencepost.core.lease import Terms
from fencepost.core.url import parse_url
from fencepost.primitives._async.session import AsyncSession
from fencepost.testing.simulation.law import Laws
from fencepost.testing.simulation.loop import LoopClock, Process, SimulatedLoop, Standstill
from fencepost.testing.simulation.nemesis import CANCEL, HARM, LONGEST_STOP, Member, Nemesis
from fencepost.testing.simulation.network import CALM, PATIENCE, QUICK, Network, Remote, Weather
from fencepost.testing.simulation.trace import Trace
from fencepost.testing.simulation.user import LEAD, NAMES, POOL, Habits, User, some

TTL = 10.0
STORM = 25.0
# Until whoever still waits when the network is well again must be served: what comes late has come, leases of the dead
# have ended, open ends are settled, and everybody before has had its turn.
RECOVERY = 300.0
# How long it takes behind the back of whoever was in a hurry to settle what it left open, while all is well.
SETTLING = 2.0
MOST_FAREWELLS = 100

Make = Callable[[str, aio.Clock], AsyncEngine]


def memory(store: str, clock: aio.Clock) -> AsyncEngine:
    return registry.async_engine("memory")(parse_url(f"memory://{store}"), clock=clock, patience=PATIENCE)


class Schedule:
    """What `seed` makes of sessions on the engine that `make` connects to."""

    def __init__(self, seed: int, make: Make = memory) -> None:
        self._dice = random.Random(seed)
        self._make = make
        self._loop = SimulatedLoop(self._dice)
        self.trace = Trace(self._loop.time)
        self._members: list[Member] = []

    def run(self) -> str | None:
        """The law that was broken, if one was."""
        try:
            return self._loop.run_until_complete(self._judged())
        except Standstill as error:
            return str(error)
        finally:
            self._bury()

    async def _judged(self) -> str | None:
        self._laws = Laws(self._loop.time, self.trace)
        self._network = Network(self._dice, self.trace)
        self._loop.set_exception_handler(lambda loop, context: self._laws.breach(str(context)))
        story = self._loop.create_task(self._story())
        await asyncio.wait([story, self._laws.broken], return_when=asyncio.FIRST_COMPLETED)
        if self._laws.broken.done():
            return self._laws.broken.result()
        error = story.exception()
        return None if error is None else _told(error)

    async def _story(self) -> None:
        dice, laws, network = self._dice, self._laws, self._network
        store, clock = uuid.uuid4().hex, LoopClock()
        self._eye = self._make(store, clock)
        for number in range(dice.randint(2, 3)):
            self._members.append(self._member(f"p{number + 1}", store, clock))
        nemesis = Nemesis(self._members, network, laws, self.trace, dice)
        fair = dice.random() < 0.3
        if fair:
            laws.has_calmed_down()
        else:
            network.weather = self._weather()
        turns = self._turns(dice.randint(1, 4), Habits.drawn(dice))
        await nemesis.strike(dice.randrange(8), STORM, (CANCEL,) if fair else some(dice, HARM))
        network.weather = CALM
        network.cut.clear()
        if not fair:
            # Whoever was stopped is started again.
            await asyncio.sleep(LONGEST_STOP + 1.0)
        await self._until_done(turns, "a user is not served")
        if not fair:
            await asyncio.sleep(2 * TTL)
            laws.has_calmed_down()
        await asyncio.sleep(SETTLING)
        await self._check_empty("after everybody was done")
        calm = self._turns(2, Habits())
        await nemesis.strike(dice.randrange(3), 2.0, (CANCEL,))
        await self._until_done(calm, "a user is not served")
        laws.judge_the_end()
        await asyncio.sleep(SETTLING)
        await self._check_empty("while all sessions are open")
        present = [each for each in self._members if each.present]
        for each in present:
            self._check_statistics(each.session)
        closing = [each.process.run(each.session.close()) for each in present]
        await self._until_done(closing, "a session does not close")
        await asyncio.sleep(2 * TTL)
        await self._check_empty("after all sessions were closed")
        for name in await self._eye.names(""):
            laws.breach(f"'{name}' is held or waited for after all sessions were closed")
        self._check_tasks()

    def _member(self, name: str, store: str, clock: aio.Clock) -> Member:
        process = Process(name)
        remote = Remote(self._make(store, clock), self._network, process)
        session = AsyncSession(remote, Terms(TTL), label=name, clock=clock, dice=self._dice.random)
        session.subscribe(self._note, event.LeaseLost, event.Lost, event.Unsettled)
        users = [User(process, session, self._laws, self._dice) for _ in range(self._dice.randint(1, 3))]
        return Member(process, session, remote, users)

    def _weather(self) -> Weather:
        chance = self._dice.choice
        return Weather(
            lost=chance((0.0, 0.05, 0.2)),
            unanswered=chance((0.0, 0.05, 0.2)),
            twice=chance((0.0, 0.1, 0.3)),
            late=chance((0.0, 0.05, 0.2)),
            latest=chance((1.0, TTL, 2 * TTL)),
            slow=chance((QUICK, 0.9)),
        )

    def _turns(self, count: int, habits: Habits) -> "list[asyncio.Task[Any]]":
        return [
            member.process.run(user.take(count, habits))
            for member in self._members
            if member.present
            for user in member.users
        ]

    async def _until_done(self, tasks: "list[asyncio.Task[Any]]", otherwise: str) -> None:
        """Of the killed nothing is expected."""
        homes = self._running()
        waited_for = [task for task in tasks if task in homes]
        if waited_for:
            await asyncio.wait(waited_for, timeout=RECOVERY)
        for task in waited_for:
            if not task.done():
                self._laws.breach(f"{otherwise}, of {homes[task].name}, within {RECOVERY:g} s of calm")

    async def _check_empty(self, when: str) -> None:
        for name in (*NAMES, POOL, LEAD):
            snapshot = await self._eye.look(name)
            for role, standings in (("holder", snapshot.holders), ("waiter", snapshot.waiters)):
                for each in standings:
                    claim = each.claim
                    self._laws.breach(f"{claim.holder.label} is a {role} of '{name}' {when} ({name}/{claim.serial})")

    def _check_statistics(self, session: AsyncSession) -> None:
        statistics = session.statistics()
        if statistics.held or statistics.waiting:
            self._laws.breach(f"{session.label} counts {statistics} when nobody has or wants anything")

    def _check_tasks(self) -> None:
        for error in self._loop.failures():
            self._laws.breach(f"a task failed, and nobody heard of it: {_told(error)}")
        for task, home in self._running().items():
            self._laws.breach(f"a task of {home.name} is left: {task.get_name()} {task.get_coro()}")

    def _running(self) -> "dict[asyncio.Task[Any], Process]":
        """The tasks of processes that live."""
        return {task: home for task, home in self._loop.unfinished().items() if home is not None and home.running}

    def _note(self, happened: event.Event) -> None:
        self.trace(happened.holder, "hears", type(happened).__name__, getattr(happened, "name", ""))

    def _bury(self) -> None:
        """Let every task end, the dead ones too, without another word to the engine."""
        loop, network = self._loop, self._network
        loop.set_exception_handler(lambda loop, context: None)
        network.closed = True
        for member in self._members:
            member.process.start()
        for _ in range(MOST_FAREWELLS):
            left = loop.unfinished()
            if not left:
                break
            for task in left:
                task.cancel()
            loop.run_until_complete(asyncio.wait(left, timeout=1.0))
        loop.close()


def _told(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))
