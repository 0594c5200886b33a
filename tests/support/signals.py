"""Children of the tests begin with default signals, also where the tests were started with signals ignored.

`nohup`, `&` in a script and some CI runners ignore SIGINT, SIGQUIT or SIGHUP, and a program inherits that. A signal
with a handler is the default again in whatever is executed: so each that is ignored gets one that does nothing. The
processes of xdist are executed as well: they are told which signals to ignore in the same way.
"""

import signal
from typing import Any

import pytest

OFTEN_IGNORED = (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM, signal.SIGTSTP)
IGNORED = "ignored_signals"
_ignored: list[int] = []


def pytest_configure(config: pytest.Config) -> None:
    told: dict[str, Any] = getattr(config, "workerinput", {})
    _ignored[:] = told.get(IGNORED) or [each for each in OFTEN_IGNORED if signal.getsignal(each) is signal.SIG_IGN]
    for number in _ignored:
        signal.signal(number, lambda *_: None)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput[IGNORED] = [int(number) for number in _ignored]
