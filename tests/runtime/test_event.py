"""The event of the blocking twins."""

import itertools
import threading

import pytest

from fencepost._runtime import threads
from tests.support.interruption import interrupt_at

pytestmark = pytest.mark.unit


def test_an_event_whose_waiter_was_interrupted_anywhere_can_be_set() -> None:
    for point in itertools.count():
        event = threads.Event()
        where = interrupt_at(point, lambda event=event: event.wait(0.001))
        setter = threading.Thread(target=event.set, daemon=True)
        setter.start()
        setter.join(20.0)
        assert not setter.is_alive(), where
        assert event.wait(0.0)
        if where is None:
            break
    assert point > 2


def test_everybody_who_waits_is_woken_and_who_comes_later_does_not_wait() -> None:
    event = threads.Event()
    woken: list[bool] = []
    waiters = [threading.Thread(target=lambda: woken.append(event.wait(60.0)), daemon=True) for _ in range(4)]
    for waiter in waiters:
        waiter.start()
    event.set()
    for waiter in waiters:
        waiter.join(20.0)
    assert woken == [True] * 4
    assert event.wait()
    event.clear()
    assert not event.wait(0.001)
    assert not event.is_set()
