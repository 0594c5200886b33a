# Generated from tests/session/_async/test_wait.py by tools/unasync.py. Do not edit: run `make gen`.
"""Whoever waits for a time, and not for an engine, hears of the close of its session."""

from collections.abc import Iterator, Callable
from typing import Any

import pytest

from fencepost import SessionClosed
from fencepost.primitives._sync.session import Session
from fencepost.testing._sync.world import World
from fencepost.testing.contract._sync.attempt import Attempt, until

pytestmark = pytest.mark.unit
TEN_HOURS = 36_000
# What a busy machine needs at most.
SOON = 20.0
Wait = Callable[[Session], Any]


def iterate(session: Session) -> None:
    for run in session.job("j", cron="0 0 29 2 *"):
        with run:
            pass


def keep(session: Session) -> None:
    run = session.job("j", at_least=TEN_HOURS).begin(1)
    assert run is not None
    with run:
        pass


def pass_twice(session: Session) -> None:
    limit = session.rate_limit("r", 1, TEN_HOURS)
    limit.acquire()
    limit.acquire()


def stand_unwell(session: Session) -> None:
    session.election("e", healthy=unwell, check_every=TEN_HOURS).acquire()


def unwell() -> bool:
    return False


@pytest.fixture
def world() -> Iterator[World]:
    with World() as world:
        yield world


def begin(world: World, session: Session, wait: Wait) -> Attempt[None]:
    """It waits, and nothing moves time."""

    def both_sleep() -> bool:
        """The keeper of the session, and whoever waits."""
        return len(world.clock._sleepers) == 2

    attempt = Attempt(lambda: wait(session))
    until(both_sleep)
    return attempt


@pytest.mark.parametrize("wait", [iterate, pass_twice, stand_unwell])
def test_a_wait_for_a_time_ends_within_a_second_of_the_close(world: World, wait: Wait) -> None:
    with world.connect(ttl=10 * TEN_HOURS) as session:
        attempt = begin(world, session, wait)
        session.close()
        world.advance(1.1)
        with pytest.raises(SessionClosed):
            attempt.outcome(SOON)


def test_a_job_that_keeps_its_name_lets_go_of_it_within_a_second_of_the_close(world: World) -> None:
    with world.connect(ttl=10 * TEN_HOURS) as session:
        attempt = begin(world, session, keep)
        session.close()
        world.advance(1.1)
        attempt.outcome(SOON)
