"""The alarms of the blocking twins: they tell holders that their lease is over."""

import itertools
import sys
import threading
from functools import partial

import pytest

from fencepost._runtime import threads
from fencepost._runtime.clock import boottime
from tests.support.interruption import interrupt_at

pytestmark = pytest.mark.unit


def rings(bell: threads._Bell) -> bool:
    """Whether an alarm that another thread sets is rung."""
    rung = threading.Event()
    setter = threading.Thread(target=bell.ring_at, args=[boottime(), rung.set], daemon=True)
    setter.start()
    setter.join(20.0)
    return rung.wait(20.0)


def ring(bell: threads._Bell) -> None:
    bell.ring_at(boottime(), int)


def test_alarms_are_rung_wherever_whoever_set_one_was_interrupted() -> None:
    for point in itertools.count():
        bell = threads._Bell()
        where = interrupt_at(point, partial(ring, bell))
        assert rings(bell), where
        if where is None:
            break
    assert point > 5


def test_alarms_are_rung_also_after_no_thread_was_to_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    bell = threads._Bell()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", start)
        with pytest.raises(RuntimeError):
            bell.ring_at(boottime(), int)
    assert rings(bell)


def test_one_whose_alarm_takes_long_delays_no_other() -> None:
    bell = threads._Bell()
    begun, over = threading.Event(), threading.Event()

    def takes_long() -> None:
        begun.set()
        over.wait()

    bell.ring_at(boottime(), takes_long)
    try:
        assert begun.wait(20.0)
        assert rings(bell)
    finally:
        over.set()


def test_a_hook_for_exceptions_that_raises_does_not_end_the_alarms(monkeypatch: pytest.MonkeyPatch) -> None:
    def hook(*error: object) -> None:
        raise ZeroDivisionError("in the hook")

    bell = threads._Bell()
    monkeypatch.setattr(sys, "excepthook", hook)
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    bell.ring_at(boottime(), lambda: 1 / 0)
    assert rings(bell)
