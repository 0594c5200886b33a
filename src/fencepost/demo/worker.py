"""One worker process: holds the lock, posts to the ledger, again and again, until it is told to stop.

In every round it is the same ordinary code: it does not ask whether it still holds the lock before it
writes. Whether that does harm is up to the ledger's fence.
"""

import ctypes
import logging
import random
import signal
import sys
import time
from functools import partial
from pathlib import Path

import fencepost
from fencepost.demo.ledger import Ledger
from fencepost.demo.news import Step, tell
from fencepost.demo.posting import NAME, Fencing, post

PR_SET_PDEATHSIG = 1


class Worker:
    def __init__(self, name: str, ledger: Ledger, fencing: Fencing, most_thought: float, seed: str) -> None:
        self._name = name
        self._ledger = ledger
        self._fencing = fencing
        self._most_thought = most_thought
        self._dice = random.Random(seed)
        self._tell = partial(tell, sys.stdout.fileno())
        self._count = 0
        self.stopping = False

    def work(self, session: fencepost.Session) -> None:
        lock = session.lock(NAME)
        while not self.stopping:
            self._tell(Step.WAITING)
            try:
                with lock as grant:
                    if not self.stopping:
                        self._post(grant)
            except fencepost.Lost as error:
                self._tell(Step.LOST, detail=str(error))
            except (fencepost.EngineError, fencepost.Uncertain) as error:
                self._tell(Step.TROUBLED, detail=str(error))

    def _post(self, grant: fencepost.Grant) -> None:
        self._tell(Step.HOLDING, grant.token)
        self._count += 1
        entry = f"{self._name}/{self._count}"
        try:
            post(self._fencing, self._ledger, grant, entry, partial(self._think, grant.token))
        except fencepost.Stale as error:
            self._tell(Step.REFUSED, grant.token, str(error))
        else:
            self._tell(Step.ACKNOWLEDGED, grant.token, entry)

    def _think(self, token: int) -> None:
        # The only place where the nemesis may leave us stopped: no transaction is open here, of the ledger or of
        # the engine, so only our lease suffers and not everybody else's. Hence the word before and after.
        self._tell(Step.THINKING, token)
        time.sleep(self._dice.uniform(0.0, self._most_thought))
        self._tell(Step.WRITING, token)


def main(name: str, folder: str, fencing: str, ttl: str, most_thought: str, seed: str) -> None:
    ledger = Ledger(Path(folder) / "ledger.db")
    worker = Worker(name, ledger, Fencing(fencing), float(most_thought), seed)

    def stop(*_: object) -> None:
        worker.stopping = True

    signal.signal(signal.SIGTERM, stop)
    if sys.platform == "linux":
        # Should the demo be killed outright, the kernel hangs up on our group only if we stand still completely by
        # then: killed a moment after it stopped us, it would leave us stopped for ever.
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    # Nobody listens any more if the demo was killed outright: end like any program at the end of a broken pipe.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    # Losses are expected here, and shown by the demo.
    logging.getLogger("fencepost").addHandler(logging.NullHandler())
    while not worker.stopping:
        try:
            with fencepost.connect(f"sqlite:///{folder}/locks.db", ttl=float(ttl), holder=name) as session:
                worker.work(session)
        except fencepost.EngineError as error:
            # With so short a ttl, a busy machine is reason enough not to get a lease at the first attempt.
            tell(sys.stdout.fileno(), Step.TROUBLED, detail=str(error))
    ledger.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
