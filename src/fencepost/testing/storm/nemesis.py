"""Does harm, by its dice: to processes, to their connections, and to servers. Everything it does is written down."""

import heapq
import itertools
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence

from fencepost._runtime.clock import boottime
from fencepost.testing.late import LateProxy
from fencepost.testing.proxy import Proxy
from fencepost.testing.server import ServerProcess
from fencepost.testing.storm.crew import Crew, Member
from fencepost.testing.storm.history import Deed, Log, Stalled
from fencepost.testing.storm.turn import KILL, STOP

# How many seconds pass between two deeds, at most.
PAUSE = 0.08
TICK = 0.005
# Of all deeds, those that stop everything are rare: what happens afterwards is as interesting.
WEIGHTS = {"kill": 6, "interrupt": 5, "stop": 2, "cut": 2, "pause server": 0.4, "restart server": 0.4}
Undo = Callable[[], None]


class Nemesis:
    """`victims` are harmed in every way, `others` are interrupted only, and `restless` are cut off as the victims are.

    `host` says that a process of an engine
    without a server may stop while everybody waits for it.
    """

    def __init__(
        self,
        victims: Crew | None,
        others: Crew,
        *,
        restless: Crew | None = None,
        log: Log,
        dice: random.Random,
        proxies: Sequence[Proxy] = (),
        servers: Sequence[ServerProcess] = (),
        durable: bool = False,
        host: bool = False,
    ) -> None:
        self._victims = victims
        self._others = others
        self._cut_off = [crew.name for crew in (victims, restless) if crew is not None]
        self._log = log
        self._dice = dice
        self._proxies = proxies
        self._harmed: set[Proxy] = set()
        self._servers = servers
        self._host = host
        self._order = itertools.count()
        # What is to be undone, by when.
        self._due: list[tuple[float, int, Undo]] = []
        self.deeds: Counter[str] = Counter()
        possible = {"interrupt": self._interrupt}
        if victims is not None:
            possible |= {"kill": self._kill, "stop": self._stop}
        if proxies:
            possible["cut"] = self._cut
        if servers:
            possible["pause server"] = self._pause_server
        if servers and durable:
            possible["restart server"] = self._restart_server
        self._possible = possible

    def rage(self, seconds: float) -> None:
        """Do harm for that long, then undo what can be."""
        until = time.monotonic() + seconds
        kinds = list(self._possible)
        weights = [WEIGHTS[kind] for kind in kinds]
        while time.monotonic() < until:
            self._wait(time.monotonic() + self._dice.uniform(0.0, PAUSE))
            kind = self._dice.choices(kinds, weights)[0]
            self.deeds[kind] += 1
            self._possible[kind]()
        self.relent()

    def relent(self) -> None:
        while self._due:
            heapq.heappop(self._due)[2]()

    def _wait(self, until: float) -> None:
        while (now := time.monotonic()) < until:
            while self._due and self._due[0][0] <= now:
                heapq.heappop(self._due)[2]()
            time.sleep(TICK)

    def _later(self, seconds: float, undo: Undo) -> None:
        heapq.heappush(self._due, (time.monotonic() + seconds, next(self._order), undo))

    def _note(self, since: float, whom: str, what: str) -> None:
        self._log.write(Deed(since, whom, what, boottime()))

    def _note_all(self, since: float, what: str) -> None:
        for who in self._cut_off:
            self._note(since, who, what)

    # Processes

    def _interrupt(self) -> None:
        crews = [crew for crew in (self._victims, self._others) if crew is not None]
        victim = self._dice.choice([member for crew in crews for member in crew.members])
        # Before it is up, it would die of that.
        if victim.has_done("start"):
            victim.interrupt()

    def _kill(self) -> None:
        assert self._victims is not None
        # Never the oldest: what a death does to others is seen by those who live on.
        victim = self._dice.choice(self._victims.members[1:])
        if not victim.stopped:
            since = boottime()
            self._victims.kill(victim)
            self._note(since, victim.who, KILL)
            self._victims.start()

    def _stop(self) -> None:
        assert self._victims is not None
        victim = self._victim()
        if victim is None:
            return
        since = boottime()
        victim.stop()

        def resume() -> None:
            victim.resume()
            self._note(since, victim.who, STOP)
            if self._host:
                # It may have been stopped where only one can be at a time, and everybody with it.
                self._log.write(Stalled(since, "host", boottime()))

        # Most wake while their lease lives; some find it gone.
        share = self._dice.choices((self._dice.uniform(0.0, 0.3), self._dice.uniform(0.8, 1.5)), (3, 1))[0]
        self._later(share * self._victims.ttl, resume)

    def _victim(self) -> Member | None:
        """Nobody while one is stopped: somebody has to take over."""
        assert self._victims is not None
        stopped = any(member.stopped for member in self._victims.members)
        return None if stopped else self._dice.choice(self._victims.members)

    # Connections

    def _cut(self) -> None:
        assert self._victims is not None
        since, ttl = boottime(), self._victims.ttl
        # Of each, one at a time: the end of a fault is the end of all.
        proxy = self._dice.choice(self._proxies)
        if proxy in self._harmed:
            return
        self._harmed.add(proxy)
        seconds = self._dice.choice((0.0, self._dice.uniform(0, 0.2), self._dice.uniform(0, 1.2) * ttl))

        def deliver() -> None:
            proxy.heal()
            self._harmed.discard(proxy)
            self._note_all(since, "cut")

        def heal() -> None:
            # No network leaves out a part of a stream and goes on with the rest: what lost something has to end.
            proxy.cut()
            deliver()

        if isinstance(proxy, LateProxy) and self._dice.random() < 0.7:
            proxy.detain()
            self._later(seconds, lambda: self._hang_up(since, proxy, seconds))
        elif isinstance(proxy, LateProxy):
            proxy.cut()
            self._later(seconds, heal)
        elif self._dice.random() < 0.5:
            self._dice.choice((proxy.cut, proxy.drop_replies))()
            self._later(seconds, heal)
        else:
            self._dice.choice((proxy.hold, lambda: proxy.delay(0.05)))()
            self._later(seconds, deliver)

    def _hang_up(self, since: float, proxy: LateProxy, seconds: float) -> None:
        """What was detained is delivered when its senders have long given it up, or sent it again."""
        proxy.hang_up()

        def deliver() -> None:
            proxy.deliver()
            self._harmed.discard(proxy)
            self._note_all(since, "late")

        self._later(seconds, deliver)

    # Servers

    def _pause_server(self) -> None:
        server = self._dice.choice(self._servers)
        since = boottime()
        if server.running:
            server.pause()

            def resume() -> None:
                server.resume()
                self._note(since, "", "pause server")

            self._later(self._dice.uniform(0.0, 0.5), resume)

    def _restart_server(self) -> None:
        server = self._dice.choice(self._servers)
        since = boottime()
        server.kill()
        server.start()
        self._note(since, "", "restart server")
