"""The events that the asynchronous sources and their blocking twins wait for."""

import asyncio
import itertools
import threading
from functools import partial

import pytest

from fencepost._runtime import aio, threads
from fencepost.testing.contract.interruption import aio as interruption
from tests.support.interruption import interrupt_at

pytestmark = pytest.mark.unit


def test_an_event_whose_waiter_was_interrupted_anywhere_can_be_set() -> None:
    for point in itertools.count():
        event = threads.Event()
        where = interrupt_at(point, partial(event.wait, 0.001))
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


def test_a_task_stops_waiting_in_time_wherever_its_loop_was_interrupted() -> None:
    """The loop goes on after a callback that raised, and nobody would wake the task again."""

    async def interrupted(point: int) -> str | None:
        event = aio.Event()
        return await interruption.Points(point).strike(lambda: event.wait(0.001))

    for point in itertools.count():
        if asyncio.run(asyncio.wait_for(interrupted(point), 20.0)) is None:
            break
    assert point > 2
