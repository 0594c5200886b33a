import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.sqlite.clock import Clock
from tests.support.sqlite.user import PATIENCE, TTL, Child, User

MakeUser = Callable[..., User]
StartChild = Callable[..., Child]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "locks.db"


@pytest.fixture
def clock() -> Clock:
    """Of all users in this process; children have the real one."""
    return Clock()


@pytest.fixture
def user(path: Path, clock: Clock) -> Iterator[MakeUser]:
    made: list[User] = []

    def make(ttl: float = TTL, patience: float = PATIENCE, at: Path = path) -> User:
        made.append(User(at, ttl, patience, clock))
        return made[-1]

    yield make
    for each in made:
        each.engine.close()


@pytest.fixture
def child(path: Path) -> Iterator[StartChild]:
    made: list[Child] = []

    def make(what: str, name: str = "it", ttl: float = TTL, prefix: tuple[str, ...] = (), at: object = path) -> Child:
        made.append(Child(what, at, name, ttl, prefix=prefix))
        return made[-1]

    yield make
    for each in made:
        each.end()


@pytest.fixture
def took() -> Callable[[], float]:
    started_at = time.monotonic()
    return lambda: time.monotonic() - started_at
