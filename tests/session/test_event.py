"""The event stream."""

import logging
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
    granted = happened[1]
    assert isinstance(granted, event.Granted)
    assert granted == event.Granted(holder="me", name="a", token=grant.token, waited=granted.waited)
    assert granted.waited == pytest.approx(0, abs=60)


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


def test_what_is_no_kind_of_event_can_not_be_subscribed_to() -> None:
    with fencepost.connect("memory://") as session:
        for kind in (fencepost.Lost, "Lost", event.Lost(holder="h", name="a", token=1, reason="")):
            with pytest.raises(TypeError, match="is no kind of event"):
                session.subscribe(print, kind)  # type: ignore[arg-type]


def test_grants_and_releases_are_logged_where_the_log_is_set_to_debug(caplog: pytest.LogCaptureFixture) -> None:
    with fencepost.connect("memory://", holder="me") as session, session.lock("a"):
        pass
    assert caplog.messages == []
    caplog.set_level(logging.DEBUG, "fencepost")
    with fencepost.connect("memory://", holder="me") as session, session.lock("a") as grant:
        pass
    granted, released = caplog.messages
    assert granted.startswith(f"me: granted 'a' (token {grant.token}) after ")
    assert released.startswith(f"me: released 'a' (token {grant.token}) after ")


def test_asks_that_were_not_granted_are_counted() -> None:
    with fencepost.connect("memory://") as session, session.lock("a"):
        assert session.lock("a").try_acquire() is None
        with pytest.raises(fencepost.AcquireTimeout):
            session.lock_all(["a", "b"]).acquire(timeout=0.01)
        assert (session.statistics().denied, session.statistics().granted) == (2, 1)


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
