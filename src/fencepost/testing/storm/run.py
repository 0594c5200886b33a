"""A storm from its beginning to its end: the processes, the nemesis, the calm after it, and the check."""

import random
import shutil
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from fencepost._runtime.clock import boottime
from fencepost.contract import registry
from fencepost.core.traits import Traits
from fencepost.core.url import parse_url
from fencepost.testing.late import LateProxy
from fencepost.testing.proxy import Proxy
from fencepost.testing.server import ServerProcess, quick_folder
from fencepost.testing.storm.check import Finding, check
from fencepost.testing.storm.crew import Crew, ended
from fencepost.testing.storm.history import Broke, Event, Got, Log, read
from fencepost.testing.storm.nemesis import Nemesis
from fencepost.testing.storm.observer import Observer
from fencepost.testing.storm.plan import PATIENT, RESTLESS, names_of
from fencepost.testing.storm.porcupine import recheck

# Who is harmed in every way, and who is only interrupted: what the second does must go on at once all the time.
ROUGH, CALM = "rough", "calm"
# How many tasks share a session of those who soon give up. They are cut off, and never killed or stopped: what one of
# them leaves on its way meets what another sends.
MANY = 12
# Longer than any machine stands still: in the calm crew nobody loses a lease.
LONG = 20.0
# For how long a name may be without a holder while somebody waits, beyond what there is an excuse for: half a second is
# the promise, and the rest for what no observer sees, such as a server that did not get its turn.
SLACK = 2.0
# For processes to come to their end on a busy machine, beyond what they wait for.
END = 60.0
# How much later than it was sent a piece arrives at most: so it may be overtaken by what is said on another connection.
LAGS = (0.0, 0.02)
# A storm that showed too little goes on, but no longer than this: an engine that grants nothing is not waited for.
LONGEST = 120.0


@dataclass(frozen=True, slots=True)
class Report:
    """What was found, nothing if all is well, and how much happened."""

    seed: int
    grants: int
    deeds: Counter[str]
    findings: list[Finding]

    def __str__(self) -> str:
        deeds = ", ".join(f"{count} {what}" for what, count in sorted(self.deeds.items()))
        lines = [f"storm of seed {self.seed}: {self.grants} grants; {deeds}; {len(self.findings)} findings"]
        return "\n".join([*lines, *map(str, self.findings)])


def storm(
    url: str,
    *,
    seconds: float = 5.0,
    seed: int = 0,
    ttl: float = 1.5,
    workers: int = 3,
    servers: Sequence[ServerProcess] = (),
    durable: bool = False,
    cuts: bool = True,
    twins: bool = False,
    grants: int = 0,
    folder: Path | None = None,
    porcupine: str | None = None,
) -> Report:
    """Many processes, threads and tasks contend for a few names while a nemesis harms them; then check the history.

    `seconds`: for how long harm is done. `seed`: of everything that is random. `ttl`: the lease of those who are
    harmed, `workers` so many processes. `servers`: those behind `url`, to be paused, and where they are `durable`, to
    be killed and started again; none is touched otherwise. `cuts`: whether connections may be cut, where the URL
    names every host with its port. `twins`: whether two readers may have the same token. `grants`: harm goes on, for
    two minutes at most, until there were so many: a busy machine gets to them late. `folder`: where the history is
    kept; by default it is not. `porcupine`: a program that checks the history as well, made from `tools/porcupine`.
    """
    traits = registry.engine(parse_url(url).scheme).traits
    place = folder or quick_folder("fencepost-storm-")
    try:
        run = Storm(url, place, seed=seed, ttl=ttl, workers=workers, traits=traits)
        deeds = run.run(seconds, servers=servers, durable=durable, cuts=cuts, grants=grants)
        events = read(place)
    finally:
        if folder is None:
            shutil.rmtree(place, ignore_errors=True)
    findings = check(events, slack=SLACK, twins=twins)
    if porcupine is not None:
        findings += recheck(events, porcupine, twins=twins)
    return Report(seed, _count(events, Got), deeds, findings)


class Storm:
    def __init__(self, url: str, folder: Path, *, seed: int, ttl: float, workers: int, traits: Traits) -> None:
        self._url = url
        self._folder = folder
        self._dice = random.Random(f"{seed} nemesis")
        self._seed = str(seed)
        self._ttl = ttl
        self._workers = workers
        self._traits = traits
        self._alone = traits.scope == "process"

    def run(
        self, seconds: float, *, servers: Sequence[ServerProcess], durable: bool, cuts: bool, grants: int
    ) -> Counter[str]:
        log = Log(self._folder, "nemesis")
        observer = Observer("nemesis", log)
        with ExitStack() as stack:
            stack.callback(log.close)
            observer.start()
            stack.callback(observer.stop)
            way, proxies = stack.enter_context(_detour(self._url, self._dice)) if cuts else (self._url, [])
            names = tuple(name for crew in (CALM, ROUGH, RESTLESS) for name in names_of(crew))
            patience = LONG * self._traits.overrun
            calm = Crew(CALM, self._url, self._folder, self._seed, LONG, 2, 3, 3, names=names, patience=patience)
            rough = Crew(ROUGH, way, self._folder, self._seed, self._ttl, 1, 2, 2)
            restless = Crew(RESTLESS, way, self._folder, self._seed, LONG, 1, 2, MANY)
            crews = [calm] if self._alone else [calm, rough, restless]
            stack.enter_context(ended(crews))
            calm.start()
            if not self._alone:
                restless.start()
            for _ in range(0 if self._alone else self._workers):
                rough.start()
            nemesis = Nemesis(
                None if self._alone else rough,
                calm,
                restless=None if self._alone else restless,
                log=log,
                dice=self._dice,
                proxies=proxies,
                servers=servers,
                durable=durable,
                host=self._traits.scope == "host",
            )
            stack.callback(nemesis.relent)
            deadline = time.monotonic() + LONGEST
            nemesis.rage(seconds)
            while _count(read(self._folder), Got) < grants and time.monotonic() < deadline:
                nemesis.rage(seconds)
            # Until what the dead left behind has ended, and for as long as somebody has to wait in vain to be noticed.
            time.sleep(self._ttl * self._traits.overrun + 1.5 * SLACK)
            self._end(crews, log)
        return nemesis.deeds

    def _end(self, crews: list[Crew], log: Log) -> None:
        """Everybody rests, somebody looks at what is left, everybody leaves. Who does not come to that is found out."""
        members = [member for crew in crews for member in crew.members]
        for order, seconds in (("rest", PATIENT), ("look", 2 * LONG), ("end", 0.0)):
            for member in members:
                member.tell(order)
            deadline = time.monotonic() + seconds + END
            late = [member.who for member in members if not member.has_done(order, deadline - time.monotonic())]
            if late:
                log.write(Broke(boottime(), late[0], f"did not come to '{order}' in {seconds + END:g} s"))
                return


@contextmanager
def _detour(url: str, dice: random.Random) -> Iterator[tuple[str, list[Proxy]]]:
    """The same engine through a proxy for each host, if the URL names them with their ports."""
    address = parse_url(url)
    # Those find out by themselves which servers there are.
    if address.scheme in ("redis+sentinel", "redis+cluster"):
        yield url, []
        return
    kind = dice.choice((Proxy, LateProxy))
    most, pace = dice.choice(LAGS), random.Random(dice.random())

    def lag() -> float:
        return pace.uniform(0.0, most) if most and pace.random() < 0.5 else 0.0

    with ExitStack() as stack:
        proxies = []
        for host, port in address.hosts:
            if port is not None:
                proxy = stack.enter_context(kind(port, host=host, lag=lag))
                url = url.replace(f"{host}:{port}", f"127.0.0.1:{proxy.port}")
                proxies.append(proxy)
        yield url, proxies


def _count(events: Sequence[Event], kind: type[Event]) -> int:
    return sum(isinstance(event, kind) for event in events)
