"""The sessions of tests wait longer than those of users for an engine that is there: the machine may be busy.

A user's call waits for an engine for five seconds at most, a try gives it one, and a user who was interrupted stays for a
tenth of one to see that nothing is left (`fencepost.core.limit`). Tests of those limits themselves set them.
"""

import pytest

from fencepost.core import limit

ANSWER = 5.0
MOST_PATIENCE = 20.0


def pytest_configure(config: pytest.Config) -> None:
    limit.ANSWER = limit.FAREWELL = ANSWER
    limit.MOST_PATIENCE = MOST_PATIENCE
