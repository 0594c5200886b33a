"""Waiting for what nothing announces, such as what a server or another process has done."""

import time
from collections.abc import Callable

LOOK_AGAIN = 0.005


def until(condition: Callable[[], object], within: float = 60.0) -> None:
    """Return once it is so; AssertionError if it is not in time."""
    deadline = time.monotonic() + within
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not so after {within:g} s")
        time.sleep(LOOK_AGAIN)
