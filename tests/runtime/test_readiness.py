"""What stands in for `select.poll` and eventfds says the same as they do."""

import select
import socket
from collections.abc import Callable, Iterator

import pytest

from fencepost._runtime import readiness
from fencepost._runtime.readiness import OVER, READ, WRITE, Alarm, Poll, Selected, SocketAlarm

pytestmark = pytest.mark.unit
POLLS = pytest.mark.parametrize("make", [select.poll, Selected])
ALARMS = pytest.mark.parametrize("make", [readiness.alarm, SocketAlarm])


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    near, far = socket.socketpair()
    with near, far:
        yield near, far


@POLLS
def test_it_tells_what_each_is_ready_for(make: Callable[[], Poll], pair: tuple[socket.socket, socket.socket]) -> None:
    near, far = pair
    waiting = make()
    waiting.register(near, READ)
    assert waiting.poll(0) == []
    far.send(b"x")
    assert waiting.poll(None) == [(near.fileno(), READ)]
    waiting.register(near.fileno(), READ | WRITE)
    assert waiting.poll(0) == [(near.fileno(), READ | WRITE)]
    waiting.unregister(near)
    assert waiting.poll(1) == []


@POLLS
def test_it_says_which_was_closed_here(make: Callable[[], Poll], pair: tuple[socket.socket, socket.socket]) -> None:
    near, far = pair
    waiting = make()
    waiting.register(near, READ)
    waiting.register(far, READ)
    number = far.fileno()
    far.close()
    assert (number, OVER) in waiting.poll(0)


@ALARMS
def test_an_alarm_rings_until_it_is_cleared_however_often_it_was_set(make: Callable[[], Alarm]) -> None:
    bell = make()
    waiting = readiness.poll()
    waiting.register(bell.fd, READ)
    bell.clear()
    assert not waiting.poll(0)
    for _ in range(10_000):
        bell.set()
    assert waiting.poll(0)
    bell.clear()
    assert not waiting.poll(0)
