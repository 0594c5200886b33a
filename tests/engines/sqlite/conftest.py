import itertools
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import fencepost.errors
from fencepost._runtime import threads
from fencepost.contract.answer import Granted, Queued
from fencepost.core.claim import Ask, Claim, Request
from fencepost.core.holder import Holder
from fencepost.core.url import Url
from fencepost.engines.sqlite._sync.engine import Engine

CHILD = Path(__file__).with_name("child.py")
SOURCES = str(Path(fencepost.errors.__file__).parent.parent)
_number = itertools.count(1)


class User:
    """An engine with one lease, and shorter words for what tests do with it."""

    def __init__(self, path: Path, ttl: float = 30.0, patience: float = 5.0) -> None:
        self.engine = Engine(Url("sqlite", path=str(path)), clock=threads.BootClock(), patience=patience)
        self.ttl = ttl
        self.renew_holder()

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

    def hold(self, ask: Ask | str) -> Claim:
        request = self.request(ask)
        answer = self.engine.claim(request, wait=False)
        assert isinstance(answer, Granted), answer
        return Claim(self.holder, request.serial, request.asks[0], answer.tokens[0])

    def queue(self, *asks: Ask | str) -> Queued:
        answer = self.engine.claim(self.request(*asks), wait=True)
        assert isinstance(answer, Queued), answer
        return answer

    def close(self) -> None:
        self.engine.lease_close(self.holder)
        self.engine.close()


class Child:
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


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "locks.db"


@pytest.fixture
def user(path: Path) -> Iterator[Callable[..., User]]:
    made: list[User] = []

    def make(ttl: float = 30.0, patience: float = 5.0, at: Path = path) -> User:
        made.append(User(at, ttl, patience))
        return made[-1]

    yield make
    for each in made:
        each.engine.close()


@pytest.fixture
def child(path: Path) -> Iterator[Callable[..., Child]]:
    made: list[Child] = []

    def make(what: str, name: str = "it", ttl: float = 30.0, prefix: tuple[str, ...] = (), at: object = path) -> Child:
        made.append(Child(what, at, name, ttl, prefix=prefix))
        return made[-1]

    yield make
    for each in made:
        each.end()


@pytest.fixture
def took() -> Callable[[], float]:
    started_at = time.monotonic()
    return lambda: time.monotonic() - started_at
