"""The event stream."""

import sys
import threading

import pytest

import fencepost
from fencepost._runtime.threads import BootClock
from fencepost.core import event
from fencepost.testing import World

pytestmark = pytest.mark.unit


def test_events_tell_the_story_of_a_lock() -> None:
    happened: list[event.Event] = []
    session = fencepost.connect("memory://", holder="me")
    session.subscribe(happened.append)
    with session, session.lock("a") as grant:
        pass
    assert [type(each) for each in happened] == [event.LeaseOpened, event.Granted, event.Released]
    assert happened[1] == event.Granted(holder="me", name="a", token=grant.token, waited=pytest.approx(0, abs=60))


def test_a_subscription_may_name_kinds_and_may_end() -> None:
    happened: list[event.Event] = []
    with fencepost.connect("memory://") as session:
        unsubscribe = session.subscribe(happened.append, event.Released)
        with session.lock("a"):
            pass
        unsubscribe()
        with session.lock("a"):
            pass
    assert [type(each) for each in happened] == [event.Released]


def test_a_listener_that_raises_is_reported_and_harms_nobody(capsys: pytest.CaptureFixture[str]) -> None:
    def broken(happened: event.Event) -> None:
        raise ZeroDivisionError("in the listener")

    with fencepost.connect("memory://") as session:
        session.subscribe(broken, event.Granted)
        with session.lock("a") as grant:
            assert grant.held
    assert "in the listener" in capsys.readouterr().err


def test_a_listener_that_exits_ends_neither_the_keeper_nor_the_alarms(capsys: pytest.CaptureFixture[str]) -> None:
    def leaves(happened: event.Event) -> None:
        sys.exit(3)

    with World() as world, world.connect(ttl=9) as session:
        session.subscribe(leaves, event.Renewed)
        grant = session.lock("a").acquire()
        world.advance(60)
        assert grant.held
    assert "SystemExit" in capsys.readouterr().err


def test_an_alarm_that_exits_does_not_end_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    clock, rung = BootClock(), threading.Event()
    clock.alarm(clock.now(), sys.exit)
    clock.alarm(clock.now() + 0.01, rung.set)
    assert rung.wait(60)
