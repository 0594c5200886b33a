"""The sessions of tests wait longer than those of users for an engine that is there: the machine may be busy.

A user's call waits for an engine for five seconds at most, a try gives it one, and a user who was interrupted stays for
a tenth of one to see that nothing is left (`fencepost.core.limit`). Tests of those limits use `users_patience`.
"""

import math
from collections.abc import Iterator

import pytest

from fencepost._runtime import threads
from fencepost.core import limit

USERS = (limit.MOST_PATIENCE, limit.ANSWER, limit.FAREWELL)
TESTS = (20.0, 20.0, 20.0)


def pytest_configure(config: pytest.Config) -> None:
    _set(TESTS)


@pytest.fixture
def users_patience() -> Iterator[None]:
    _set(USERS)
    yield
    _set(TESTS)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    # A test whose signal handler raises may leave the limit of a call on this thread, which heals after a second
    # (`fencepost._runtime.threads.LEFT_OVER`): the next test is not to be in that hurry.
    threads.calls.until = math.inf


def _set(values: tuple[float, float, float]) -> None:
    limit.MOST_PATIENCE, limit.ANSWER, limit.FAREWELL = values
