"""The mutex of those who wait for a server: no caller waits longer than it has time, and no signal leaves it taken."""

import itertools
import threading
from functools import partial

import pytest

from fencepost import Unavailable
from fencepost._runtime.threads import BootClock, Limit, Turn
from tests.support.interruption import interrupt_at

pytestmark = pytest.mark.unit

HURRY = 0.05
LONG = 60.0


def enter(turn: Turn) -> None:
    with turn:
        pass


def test_a_caller_without_time_does_not_wait_for_the_time_of_another() -> None:
    turn, over = Turn(Unavailable), threading.Event()
    entered = threading.Event()

    def stay() -> None:
        with turn:
            entered.set()
            over.wait(LONG)

    other = threading.Thread(target=stay)
    other.start()
    assert entered.wait(LONG)
    clock = BootClock()
    with pytest.raises(Unavailable), Limit(clock, clock.now() + HURRY):
        enter(turn)
    assert other.is_alive()
    over.set()
    # One that has time gets its turn.
    enter(turn)
    other.join()


def test_an_interruption_at_any_point_leaves_it_free() -> None:
    for point in itertools.count():
        turn = Turn(Unavailable)
        where = interrupt_at(point, partial(enter, turn))
        entering = threading.Thread(target=enter, args=[turn], daemon=True)
        entering.start()
        entering.join(20.0)
        assert not entering.is_alive(), where
        if where is None:
            break
    assert point > 1
