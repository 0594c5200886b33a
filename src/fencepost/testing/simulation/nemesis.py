"""The adversary of one schedule: it cancels users and harms processes, whenever the die says so."""

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass

from fencepost.primitives._async.session import AsyncSession
from fencepost.testing.simulation.law import Laws
from fencepost.testing.simulation.loop import Process
from fencepost.testing.simulation.network import Network, Remote
from fencepost.testing.simulation.trace import Trace
from fencepost.testing.simulation.user import User

CANCEL, STOP, CUT, KILL, CLOSE = "cancel", "stop", "cut", "kill", "close"
LONGEST_STOP = 12.0
HARM = (CANCEL, CANCEL, STOP, CUT, CUT, KILL, CLOSE)


@dataclass(eq=False)
class Member:
    """A process with one session and its users."""

    process: Process
    session: AsyncSession
    remote: Remote
    users: list[User]
    # Neither closed nor killed.
    present: bool = True
    killed: bool = False


class Nemesis:
    def __init__(
        self, members: Sequence[Member], network: Network, laws: Laws, trace: Trace, dice: random.Random
    ) -> None:
        self._members = members
        self._network = network
        self._laws = laws
        self._trace = trace
        self._dice = dice

    async def strike(self, times: int, within: float, means: Sequence[str]) -> None:
        """So often, at random moments of the time, with any of the means."""
        loop = asyncio.get_running_loop()
        began_at = loop.time()
        for moment in sorted(self._dice.uniform(0.0, within) for _ in range(times)):
            await asyncio.sleep(began_at + moment - loop.time())
            # A moment is many steps of the loop: strike at any of them.
            for _ in range(self._dice.randrange(6)):
                await asyncio.sleep(0)
            present = [member for member in self._members if member.present]
            # To harm whoever holds something is worth more.
            victims = [member for member in present if self._laws.holds(member.process)]
            if present:
                self._harm(self._dice.choice(victims or present), self._dice.choice(means))

    def _harm(self, member: Member, means: str) -> None:
        process = member.process
        match means:
            case "cancel":
                turn = self._dice.choice(member.users).turn
                if turn is not None and not turn.done():
                    self._trace("nemesis", "cancels a user of", process.name)
                    turn.cancel()
            case "stop":
                if process.running:
                    seconds = self._dice.choice((0.5, 5.0, LONGEST_STOP))
                    self._trace("nemesis", "stops", process.name, "for", seconds)
                    process.stop()
                    asyncio.get_running_loop().call_later(seconds, self._start, member)
            case "cut":
                self._trace("nemesis", "cuts off", process.name)
                self._network.cut.add(process)
                seconds = self._dice.choice((0.5, 9.0, 15.0))
                asyncio.get_running_loop().call_later(seconds, self._network.cut.discard, process)
            case "kill":
                self._trace("nemesis", "kills", process.name)
                member.present, member.killed = False, True
                process.stop()
                self._laws.is_dead(process)
            case "close":
                self._trace("nemesis", "closes the session of", process.name)
                member.present = False
                process.run(member.session.close())

    def _start(self, member: Member) -> None:
        # One that was killed meanwhile stays so.
        if not member.killed and not member.process.running:
            self._trace("nemesis", "starts", member.process.name)
            member.process.start()
            self._laws.is_back(member.process)
