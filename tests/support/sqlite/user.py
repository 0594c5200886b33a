"""An engine with one lease, in this process or in another."""

import itertools
import os
import subprocess
import sys
from pathlib import Path

import fencepost.errors
from fencepost._runtime import threads
from fencepost.contract.answer import Granted, Queued
from fencepost.core.claim import Ask, Request
from fencepost.core.holder import Holder
from fencepost.core.url import Url
from fencepost.engines.sqlite._sync.engine import Engine
from tests.support.claim import GrantedClaim

CHILD = Path(__file__).with_name("child.py")
SOURCES = str(Path(fencepost.errors.__file__).parent.parent)
# Nothing ends by itself, and nobody gives up, unless a test says so: not on a busy machine either.
TTL = 60.0
PATIENCE = 30.0
_number = itertools.count(1)


class User:
    """An engine with one lease, and shorter words for what tests do with it."""

    def __init__(
        self, path: Path, ttl: float = TTL, patience: float = PATIENCE, clock: threads.Clock | None = None
    ) -> None:
        self.engine = Engine(Url("sqlite", path=str(path)), clock=clock or threads.BootClock(), patience=patience)
        self.ttl = ttl
        try:
            self.renew_holder()
        except BaseException:
            # Nobody else has it.
            self.engine.close()
            raise

    def renew_holder(self) -> None:
        number = next(_number)
        self.holder = Holder(f"holder-{os.getpid()}-{number}", f"user {number}")
        self.engine.lease_open(self.holder, self.ttl)

    def request(self, *asks: Ask | str) -> Request:
        return Request(self.holder, next(_number), tuple(Ask(ask) if isinstance(ask, str) else ask for ask in asks))

    def token(self, name: str) -> int:
        """The token of a grant that must succeed at once; the grant stays."""
        answer = self.engine.claim(self.request(name), wait=False)
        assert isinstance(answer, Granted), answer
        return answer.tokens[0]

    def hold(self, ask: Ask | str) -> GrantedClaim:
        request = self.request(ask)
        answer = self.engine.claim(request, wait=False)
        assert isinstance(answer, Granted), answer
        return GrantedClaim(self.holder, request.serial, request.asks[0], answer.tokens[0])

    def queue(self, *asks: Ask | str, priority: int = 0) -> Queued:
        answer = self.engine.claim(self.request(*asks)._replace(priority=priority), wait=True)
        assert isinstance(answer, Queued), answer
        return answer

    def granted(self, queued: Queued) -> GrantedClaim:
        """The claim that ends this wait."""
        answer: object = queued
        while isinstance(answer, Queued):
            answer = self.engine.wait(answer, 10.0)
        assert isinstance(answer, Granted), answer
        return GrantedClaim(self.holder, queued.request.serial, queued.request.asks[0], answer.tokens[0])

    def close(self) -> None:
        self.engine.lease_close(self.holder)
        self.engine.close()


class Child:
    """Another process: `child.py` says what it can do."""

    def __init__(self, *args: object, prefix: tuple[str, ...] = ()) -> None:
        self.process = subprocess.Popen(
            [*prefix, sys.executable, str(CHILD), *map(str, args)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": SOURCES},
        )

    def hears(self) -> list[str]:
        """The next line the child says."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().split()

    def go_on(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=20)
