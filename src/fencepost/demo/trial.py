"""One round: workers, a nemesis, a ledger, and the count afterwards."""

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import fencepost
from fencepost.demo.crew import Crew
from fencepost.demo.ledger import Ledger
from fencepost.demo.nemesis import Nemesis
from fencepost.demo.posting import Fencing
from fencepost.demo.report import Outcome

WORKERS = 5
TTL = 0.2
MOST_THOUGHT = TTL
TICK = 0.01
# A round that met too few pauses shows nothing. On a busy machine it goes on until it has, up to this many lengths.
ENOUGH_OVERTAKEN = 4
LONGEST = 20
# For five interpreters to start on a busy machine.
START = 60.0


@dataclass(slots=True)
class Trial:
    """A round under way, for whoever watches."""

    fencing: Fencing
    crew: Crew
    nemesis: Nemesis
    elapsed: float = 0.0

    @property
    def acknowledged(self) -> int:
        return sum(len(member.acknowledged) for member in self.crew.members.values())

    @property
    def refused(self) -> int:
        return sum(member.refused for member in self.crew.members.values())

    @property
    def lost(self) -> int:
        return sum(member.lost for member in self.crew.members.values())


def run(fencing: Fencing, folder: Path, seconds: float, seed: str, watch: Callable[[Trial], None]) -> Outcome:
    """Run one round in an empty `folder`; every process it starts has ended when it returns or raises."""
    ledger = Ledger(folder / "ledger.db")
    # Closed but never entered: to look takes no lease.
    with Crew() as crew, closing(fencepost.connect(f"sqlite:///{folder}/locks.db", ttl=TTL)) as session:
        for number in range(1, WORKERS + 1):
            name = f"worker-{number}"
            crew.start(name, str(folder), fencing, str(TTL), str(MOST_THOUGHT), f"{seed}/{name}")
        _await_all(crew)
        started_at = time.monotonic()
        trial = Trial(fencing, crew, Nemesis(session, crew, TTL, seed, now=started_at))
        while not _is_over(trial, seconds):
            crew.listen(TICK)
            crew.check()
            now = time.monotonic()
            trial.nemesis.act(now)
            trial.elapsed = now - started_at
            watch(trial)
        trial.nemesis.relent()
        crew.finish()
    surviving = set(ledger.read())
    ledger.close()
    return _count(trial, surviving)


def _await_all(crew: Crew) -> None:
    """Until everybody has spoken: the round is not for watching Python start."""
    until = time.monotonic() + START
    while any(member.news is None for member in crew.members.values()):
        crew.listen(TICK)
        crew.check()
        if time.monotonic() > until:
            raise RuntimeError(f"the workers did not start within {START:g} s")


def _is_over(trial: Trial, seconds: float) -> bool:
    return trial.elapsed >= (seconds if _has_shown(trial) else seconds * LONGEST)


def _has_shown(trial: Trial) -> bool:
    """Holders were overtaken, and where both are fenced one of them came too late."""
    enough = trial.nemesis.overtaken >= ENOUGH_OVERTAKEN
    return enough and (trial.refused > 0 or trial.fencing is not Fencing.READS_AND_WRITES)


def _count(trial: Trial, surviving: set[str]) -> Outcome:
    members = trial.crew.members.values()
    acknowledged = {entry for member in members for entry in member.acknowledged}
    return Outcome(
        fencing=trial.fencing,
        seconds=round(trial.elapsed, 3),
        pauses=trial.nemesis.pauses,
        overtaken=trial.nemesis.overtaken,
        acknowledged=len(acknowledged),
        surviving=len(acknowledged & surviving),
        refused=trial.refused,
        losses_noticed=trial.lost,
        troubles=tuple(trouble for member in members for trouble in member.troubles),
    )
