"""A process of a storm: some sessions, blocking and asynchronous, with threads and tasks that share them.

It says `start`; then it is told to `rest`, to `look` and to `end`, each in a word that it says again when it has.
"""

import asyncio
import logging
import random
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from fencepost._runtime.clock import boottime
from fencepost.core import event
from fencepost.errors import EngineError
from fencepost.primitives._async.connect import connect_async
from fencepost.primitives._async.session import AsyncSession
from fencepost.primitives._sync.connect import connect
from fencepost.primitives._sync.session import Session
from fencepost.testing.storm._async.flow import AsyncFlow
from fencepost.testing.storm._sync.flow import Flow
from fencepost.testing.storm.hazard import threads as hazard
from fencepost.testing.storm.history import Broke, Joined, Left, Log, Trouble
from fencepost.testing.storm.observer import Observer

ORDERS = ("rest", "look", "end")
LOOK_AGAIN = 0.02
S = TypeVar("S", Session, AsyncSession)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a process is told: `sessions` of each flavour, each with `flows` threads or `tasks`."""

    who: str
    folder: str
    seed: str
    ttl: float
    sessions: int
    flows: int
    tasks: int
    # What it looks at in the end, and for how many seconds something may still be there.
    names: tuple[str, ...] = ()
    patience: float = 0.0

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


class Worker:
    def __init__(self, url: str, settings: Settings) -> None:
        self._url = url
        self._settings = settings
        self._log = Log(Path(settings.folder), settings.who)
        self._told = {order: threading.Event() for order in ORDERS}
        self._tasks_rest = threading.Event()

    def run(self) -> None:
        """In the main thread, which lives one of the flows: the one that signals reach."""
        hazard.listen()
        threading.excepthook = sys.unraisablehook = self._broke
        self._say("start")
        Observer(self._settings.who, self._log).start()
        threading.Thread(target=self._listen, daemon=True).start()
        sessions = [self._watched(connect(self._url, **self._terms())) for _ in range(self._settings.sessions)]
        lasting = self._settings.ttl * sessions[0].traits.overrun
        self._log.write(Joined(boottime(), self._settings.who, lasting))
        first, *others = [Flow(*self._life("thread", *each)) for each in self._places(sessions, self._settings.flows)]
        threads = [threading.Thread(target=flow.live, daemon=True) for flow in others]
        tasks = threading.Thread(target=asyncio.run, args=[self._run_tasks()], daemon=True)
        for thread in (tasks, *threads):
            thread.start()
        first.live()
        for thread in threads:
            thread.join()
        self._tasks_rest.wait()
        self._say("rest")
        self._told["look"].wait()
        self._look(sessions[0])
        self._say("look")
        self._told["end"].wait()
        for session in sessions:
            session.close()
        tasks.join()
        self._say("end")

    async def _run_tasks(self) -> None:
        sessions = [self._watched(connect_async(self._url, **self._terms())) for _ in range(self._settings.sessions)]
        flows = [AsyncFlow(*self._life("task", *each)) for each in self._places(sessions, self._settings.tasks)]
        await asyncio.gather(*(flow.live() for flow in flows))
        self._tasks_rest.set()
        await asyncio.to_thread(self._told["end"].wait)
        for session in sessions:
            await session.close()

    def _terms(self) -> dict[str, Any]:
        return {"ttl": self._settings.ttl, "holder": self._settings.who}

    def _watched(self, session: S) -> S:
        session.subscribe(self._note, event.LeaseLost, event.Unsettled)
        return session

    def _places(self, sessions: list[S], each: int) -> list[tuple[int, S]]:
        return list(enumerate(session for session in sessions for _ in range(each)))

    def _life(self, kind: str, number: int, session: S) -> tuple[str, S, Log, random.Random, Callable[[], bool]]:
        who = f"{self._settings.who}/{kind}-{number}"
        dice = random.Random(f"{self._settings.seed} {who}")
        return who, session, self._log, dice, self._told["rest"].is_set

    def _note(self, happened: event.Event) -> None:
        self._log.write(Trouble(boottime(), self._settings.who, type(happened).__name__))

    def _broke(self, unheard: Any) -> None:
        """What was raised where nobody can catch it: at the end of a thread, or of an object."""
        # Python drops what a signal's handler raises while an object ends: that is nobody's fault.
        if unheard.exc_type is not hazard.Interruption:
            what = f"{unheard.exc_type.__name__}: {unheard.exc_value}, and nobody could catch it"
            self._log.write(Broke(boottime(), self._settings.who, what))

    def _look(self, session: Session) -> None:
        """Write down what is left of all names when everybody rests, and what is in doubt has had its time."""
        until = boottime() + self._settings.patience
        for name in self._settings.names:
            while (left := _left(session, name)) and boottime() < until:
                time.sleep(LOOK_AGAIN)
            for what in left:
                self._log.write(Left(boottime(), self._settings.who, name, what))

    def _listen(self) -> None:
        for line in sys.stdin:
            self._told[line.strip()].set()

    def _say(self, word: str) -> None:
        print(word, flush=True)


def _left(session: Session, name: str) -> list[str]:
    try:
        found = session.look(name)
    except EngineError as error:
        return [f"could not look: {error}"]
    holders = [f"held by {each.claim.holder} (token {each.claim.token})" for each in found.holders]
    return holders + [f"waited for by {each.claim.holder}" for each in found.waiters]


def start(url: str, settings: dict[str, Any]) -> None:
    """What a process made by the fork server does."""
    # Losses are expected here, and written down.
    logging.getLogger("fencepost").addHandler(logging.NullHandler())
    Worker(url, Settings(**settings)).run()
