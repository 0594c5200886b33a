"""Children of the tests begin with default signals, also where the tests were started with signals ignored.

`nohup`, `&` in a script and some CI runners ignore SIGINT, SIGQUIT or SIGHUP, and a program inherits that. A signal
with a handler is the default again in whatever is executed: so each that is ignored gets one that does nothing.
"""

import signal

import pytest

OFTEN_IGNORED = (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM, signal.SIGTSTP)


def pytest_configure(config: pytest.Config) -> None:
    for number in OFTEN_IGNORED:
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)
