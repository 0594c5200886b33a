"""A signal handler that raises, at any point of a call: the book is whole, its lock is free, nobody waits for ever."""

import itertools

import pytest

from fencepost._runtime import threads
from fencepost.core.url import Url
from fencepost.engines.memory._sync.engine import Engine
from tests.support.interruption import ACTS, Act, every_point

_number = itertools.count()


# What is dropped half made is closed when it is collected.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
@pytest.mark.parametrize("act", ACTS)
def test_an_interruption_at_any_point_tears_nothing(act: Act) -> None:
    url = Url("memory", path=f"/interruption-{next(_number)}")

    def make() -> Engine:
        return Engine(url, clock=threads.BootClock(), patience=5.0)

    assert every_point(make, act, lambda engine: engine._book._lock.locked()) > 3
