"""What must hold in every schedule, judged from what users see: their asks, their grants, and when these ended."""

import asyncio
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from fencepost.core import limit
from fencepost.core.claim import Ask, Mode
from fencepost.session._async.grant import AsyncGrant
from fencepost.testing.simulation.loop import Process
from fencepost.testing.simulation.trace import Trace

# While all is well, a name that somebody waits for is free no longer than that, and a time-out overrun by no more. A
# lease is ten times as long: whoever finds out only by the end of one that its turn has come was not told.
PROMPT = 1.0
# While calls are lost and held up, a time-out is overrun by no more than so many of the session's farewells: one's own,
# and that of another who opened the lease for both.
FAREWELLS = 2
ROUNDING = 1e-6


@dataclass(eq=False)
class Asking:
    """Somebody wants these by then, and then takes `slack` to come back.

    `floor` is the highest token of each name that was seen before.
    """

    process: Process
    asks: tuple[Ask, ...]
    until: float
    floor: dict[str, int]
    slack: float = 0.0
    holdings: list["Holding"] = field(default_factory=list)

    @property
    def names(self) -> set[str]:
        return {ask.name for ask in self.asks}


@dataclass(eq=False)
class Holding:
    """A grant that a user has, until it begins to give it back; or is about to give back, until that is done."""

    process: Process
    ask: Ask
    grant: AsyncGrant
    used: bool = True


class Laws:
    """The first breach ends the schedule: `broken` is set to what it is.

    `calm_since`: from when on the network is reliable and nobody is stopped or killed, and nothing from before is open
    any more; only then is anything said of how quickly names are handed over.
    """

    def __init__(self, now: Callable[[], float], trace: Trace) -> None:
        self.broken: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.calm_since: float | None = None
        self.grants = 0
        self._now = now
        self._trace = trace
        self._waiting: list[Asking] = []
        self._holdings: list[Holding] = []
        self._tokens: dict[str, set[int]] = {}
        self._highest: dict[str, int] = {}
        self._highest_exclusive: dict[str, int] = {}
        # Since when nobody has had what somebody waits for.
        self._idle: dict[str, float] = {}

    def breach(self, what: str) -> None:
        self._trace("laws", what)
        if not self.broken.done():
            self.broken.set_result(what)

    # What users do

    def ask(self, process: Process, asks: tuple[Ask, ...], timeout: float | None, slack: float = 0.0) -> Asking:
        until = math.inf if timeout is None else self._now() + (timeout or limit.ANSWER)
        asking = Asking(process, asks, until, {ask.name: self._highest.get(ask.name, 0) for ask in asks}, slack)
        self._waiting.append(asking)
        within = "" if timeout is None else f"within {timeout:g} s"
        self._trace(process.name, "wants", *(f"{ask.name} ({ask.mode})" for ask in asks), within)
        self._judge_idleness()
        return asking

    def granted(self, asking: Asking, grants: Sequence[AsyncGrant]) -> None:
        self._answered(asking)
        asks = {ask.name: ask for ask in asking.asks}
        for grant in grants:
            self._trace(asking.process.name, "has", grant.name, self._trace.token(grant.token))
            # A process that was stopped on the last step may get to see what it has lost already.
            if grant.held:
                self._judge_token(asking, asks[grant.name], grant.token)
            asking.holdings.append(Holding(asking.process, asks[grant.name], grant))
        self.grants += 1
        self._holdings += asking.holdings
        for name in asks:
            self._judge_holders(name)
        self._judge_idleness()

    def gives_back(self, asking: Asking) -> None:
        """It is not used any more: from now on others may have it, or not yet."""
        for holding in asking.holdings:
            holding.used = False
            self._trace(asking.process.name, "gives back", holding.ask.name)

    def shares(self, asking: Asking) -> None:
        """It is being turned into a shared one, and may be so already."""
        for holding in asking.holdings:
            holding.ask = holding.ask._replace(mode=Mode.SHARED)

    def ended(self, asking: Asking, how: str) -> None:
        """It is over, one way or another."""
        self._trace(asking.process.name, "is done with", *sorted(asking.names), f"({how})")
        if asking in self._waiting:
            self._answered(asking)
        self._holdings = [each for each in self._holdings if each not in asking.holdings]
        self._judge_idleness()

    def _answered(self, asking: Asking) -> None:
        self._waiting.remove(asking)
        late = self._now() - max(asking.until, asking.process.back_at) - asking.slack
        most = FAREWELLS * limit.FAREWELL
        if late > (most if self.calm_since is None else max(PROMPT, most)) + ROUNDING:
            self.breach(f"{asking.process.name} came back {late:.3f} s after its time-out")

    # What happens to processes

    def holds(self, process: Process) -> bool:
        return any(each.process is process for each in self._holdings)

    def is_back(self, process: Process) -> None:
        """It was stopped, and goes on with what it believes to hold."""
        for holding in self._holdings:
            if holding.process is process:
                self._judge_holders(holding.ask.name)

    def is_dead(self, process: Process) -> None:
        self._waiting = [each for each in self._waiting if each.process is not process]
        self._holdings = [each for each in self._holdings if each.process is not process]

    def has_calmed_down(self) -> None:
        self.calm_since = self._now()
        self._judge_idleness()

    def judge_the_end(self) -> None:
        self._judge_idleness()
        for asking in self._waiting:
            self.breach(f"{asking.process.name} waits for {', '.join(sorted(asking.names))} to the end")

    # What must hold

    def _judge_holders(self, name: str) -> None:
        """Of those who can act now, and believe in a proven lease."""
        believers = [
            each
            for each in self._holdings
            if each.ask.name == name and each.used and each.process.running and each.grant.held
        ]
        modes = {each.ask.mode for each in believers}
        alone = len(believers) < 2 or Mode.EXCLUSIVE not in modes
        counted = sum(each.ask.weight for each in believers if each.ask.mode is Mode.COUNTED)
        within = counted <= max((each.ask.limit for each in believers), default=0)
        if not (alone and len(modes) < 2 and (within or Mode.COUNTED not in modes)):
            who = ", ".join(f"{each.process.name} {self._trace.token(each.grant.token)}" for each in believers)
            self.breach(f"'{name}' is held by several who may not hold it together: {who}")

    def _judge_token(self, asking: Asking, ask: Ask, token: int) -> None:
        name = ask.name
        seen = self._tokens.setdefault(name, set())
        exclusive = ask.mode is Mode.EXCLUSIVE
        # Who had it before us is known of whoever had it before we asked, and of whoever could not have it beside us.
        before = max(asking.floor[name], (self._highest if exclusive else self._highest_exclusive).get(name, 0))
        if token in seen or token <= before:
            again = "came before" if token in seen else f"is not above {self._trace.token(before)}"
            self.breach(f"token {self._trace.token(token)} of '{name}' {again}")
        seen.add(token)
        self._highest[name] = max(token, self._highest.get(name, 0))
        if exclusive:
            self._highest_exclusive[name] = token

    def _judge_idleness(self) -> None:
        """Called whenever a name comes to be waited for or held, or ceases to be."""
        now = self._now()
        idle = set(self._idle_names())
        for name, since in list(self._idle.items()):
            if self.calm_since is not None and now - max(since, self.calm_since) > PROMPT:
                self.breach(f"nobody had '{name}' for {now - since:.3f} s, while somebody waited for it")
            if name not in idle:
                del self._idle[name]
        for name in idle:
            self._idle.setdefault(name, now)

    def _idle_names(self) -> Iterator[str]:
        """Those that are waited for and that nobody has, nor any of the others that somebody wants beside."""
        left = [asking.names for asking in self._waiting]
        while left:
            names = left.pop()
            while touching := [each for each in left if each & names]:
                names = names.union(*touching)
                left = [each for each in left if not each & names]
            if not any(each.ask.name in names for each in self._holdings):
                yield from names
