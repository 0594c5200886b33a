"""The processes of a storm, as the nemesis sees them: forked, interrupted, stopped, killed, and replaced."""

import os
import select
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from fencepost.testing.contract import forkserver
from fencepost.testing.storm.hazard.threads import SIGNAL
from fencepost.testing.storm.worker import Settings

PROGRAM = "fencepost.testing.storm.worker"


@dataclass(slots=True, eq=False)
class Member:
    who: str
    process: forkserver.Worker
    stopped: bool = False
    heard: str = ""

    def tell(self, order: str) -> None:
        self.process.stdin.write(f"{order}\n")
        self.process.stdin.flush()

    def has_done(self, order: str, within: float = 0.0) -> bool:
        """Wait for its word."""
        deadline = time.monotonic() + within
        stdout = self.process.stdout.fileno()
        while order not in self.heard.split():
            ready, _, _ = select.select([stdout], [], [], max(0.0, deadline - time.monotonic()))
            said = os.read(stdout, 4096).decode() if ready else ""
            if not said:
                return False
            self.heard += said
        return True

    def interrupt(self) -> None:
        self.process.send_signal(SIGNAL)

    def stop(self) -> None:
        self.process.send_signal(signal.SIGSTOP)
        self.stopped = True

    def resume(self) -> None:
        self.process.send_signal(signal.SIGCONT)
        self.stopped = False


@dataclass(slots=True, eq=False)
class Crew:
    """Processes with the same names to ask for, the same terms, and the same way to the engine."""

    name: str
    url: str
    folder: Path
    seed: str
    ttl: float
    sessions: int
    flows: int
    tasks: int
    names: tuple[str, ...] = ()
    patience: float = 0.0
    members: list[Member] = field(default_factory=list)
    started: int = 0

    def start(self) -> Member:
        self.started += 1
        who = f"{self.name}/{self.started}"
        settings = Settings(
            who=who,
            folder=os.fspath(self.folder),
            seed=self.seed,
            ttl=self.ttl,
            sessions=self.sessions,
            flows=self.flows,
            tasks=self.tasks,
            names=self.names,
            patience=self.patience,
        )
        process = forkserver.shared_forkserver().fork(PROGRAM, self.url, settings.as_json())
        member = Member(who, process)
        self.members.append(member)
        return member

    def kill(self, member: Member) -> None:
        """Returns when it is dead."""
        self.members.remove(member)
        member.process.kill()
        member.process.wait()
        member.process.close()


@contextmanager
def ended(crews: list[Crew]) -> Iterator[None]:
    """After it nobody of them is left."""
    try:
        yield
    finally:
        for crew in crews:
            for member in list(crew.members):
                crew.kill(member)
