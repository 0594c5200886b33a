"""`run --every` and `--cron`, where no real process could be caught in the act."""

import signal
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from fencepost.cli.repeat import STOPPING, Repetition
from fencepost.core.schedule import every

pytestmark = pytest.mark.unit


@pytest.fixture
def handlers() -> Iterator[None]:
    before = {signum: signal.getsignal(signum) for signum in STOPPING}
    yield
    for signum, handler in before.items():
        signal.signal(signum, handler)


class Started:
    """A run of the command. The signal comes before we know that it has begun."""

    last: "Started"

    def __init__(self, argv: Any) -> None:
        self.heard: list[int] = []
        signal.raise_signal(signal.SIGTERM)
        Started.last = self

    def send_signal(self, signum: int) -> None:
        self.heard.append(signum)

    def wait(self) -> int:
        return 0


def test_a_run_that_was_being_started_hears_of_the_end(handlers: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "Popen", Started)
    assert Repetition(every(1), []).run() == 128 + signal.SIGTERM
    assert Started.last.heard == [signal.SIGTERM]


def test_a_signal_between_two_runs_is_not_slept_over(handlers: None) -> None:
    class Sudden:
        """A schedule whose next tick is far away. The signal comes while it is worked out."""

        def after(self, instant: float) -> int:
            signal.raise_signal(signal.SIGTERM)
            return int(instant) + 86_400

    assert Repetition(Sudden(), []).run() == 128 + signal.SIGTERM
