"""Supervision, where no real process could be caught in the act."""

import signal
from typing import cast

import pytest

from fencepost._runtime.clock import boottime
from fencepost.cli import supervision
from fencepost.cli.child import Child
from fencepost.cli.inbox import Inbox
from fencepost.cli.supervision import supervise
from fencepost.cli.terminal import Terminal

pytestmark = pytest.mark.unit


class Stopped:
    """A command that job control has stopped."""

    group = 1
    stopped_by: int | None = signal.SIGTSTP

    def __init__(self) -> None:
        self.sent: list[int] = []

    @property
    def ended(self) -> bool:
        return signal.SIGKILL in self.sent

    is_gone = property(lambda self: lambda: self.ended)

    def reap(self) -> None: ...

    def send(self, signum: int) -> None:
        self.sent.append(signum)


class Fleeting:
    """A grant that is lost while we are stopped."""

    held = True

    def remaining(self) -> float:
        return 0.001 if self.held else 0.0


class Sleepy:
    """A terminal whose user comes back after the lease has ended."""

    def __init__(self, grant: Fleeting) -> None:
        self._grant = grant

    def stop_with(self, group: int, signum: int) -> bool:
        self._grant.held = False
        return True


def test_a_command_is_not_continued_before_the_lease_was_looked_at() -> None:
    child, grant = Stopped(), Fleeting()
    with Inbox() as inbox:
        assert not supervise(
            cast(Child, child), grant, inbox, cast(Terminal, Sleepy(grant)), grace=0.0, proven_until=0.0
        )
    assert child.sent == [signal.SIGKILL]


def test_the_same_command_goes_on_under_a_lease_that_lives() -> None:
    child, grant = Stopped(), Fleeting()
    asleep: list[float] = []

    class Awake(Sleepy):
        def stop_with(self, group: int, signum: int) -> bool:
            return True

    class Patient(Inbox):
        def wait(self, timeout: float) -> None:
            asleep.append(timeout)
            grant.held = False

    with Patient() as inbox:
        supervise(cast(Child, child), grant, inbox, cast(Terminal, Awake(grant)), grace=0.0, proven_until=0.0)
    assert child.sent[0] == signal.SIGCONT
    assert asleep


def test_a_pause_before_the_first_look_at_the_lease_gives_no_grace() -> None:
    child, grant = Stopped(), Fleeting()
    grant.held = False
    long_ago = boottime() - 5.0
    with Inbox() as inbox:
        supervise(cast(Child, child), grant, inbox, cast(Terminal, None), grace=1.0, proven_until=long_ago)
    assert child.sent == [signal.SIGKILL]


def test_while_there_is_time_the_command_is_asked_first(monkeypatch: pytest.MonkeyPatch) -> None:
    child, grant = Stopped(), Fleeting()
    grant.held = False
    now = 100.0
    monkeypatch.setattr(supervision, "boottime", lambda: now)

    class Idle(Inbox):
        """Time passes only here."""

        def wait(self, timeout: float) -> None:
            nonlocal now
            assert child.sent == [signal.SIGTERM, signal.SIGCONT]
            now += timeout

    with Idle() as inbox:
        supervise(cast(Child, child), grant, inbox, cast(Terminal, None), grace=1.0, proven_until=now)
    assert child.sent == [signal.SIGTERM, signal.SIGCONT, signal.SIGKILL]
    assert now == pytest.approx(101.0)


def test_a_pause_behind_the_look_at_the_lease_gives_no_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(supervision, "boottime", lambda: now)

    class Pausing(Fleeting):
        """A grant with 8 s left, whose holder is stopped for a minute right after it has heard so."""

        def remaining(self) -> float:
            nonlocal now
            now += 60.0
            self.held = False
            return 8.0

    class Idle(Inbox):
        def wait(self, timeout: float) -> None:
            nonlocal now
            now += timeout

    child = Stopped()
    with Idle() as inbox:
        supervise(cast(Child, child), Pausing(), inbox, cast(Terminal, None), grace=5.0, proven_until=now)
    assert child.sent == [signal.SIGKILL]
