# Generated from tests/support/zookeeper/_async/patience.py by tools/unasync.py. Do not edit: run `make gen`.
"""Waiting for what nothing announces, while our own sessions go on."""

from collections.abc import Callable

from fencepost._runtime import threads as runtime
from fencepost.testing.contract._sync.attempt import until


def so(condition: Callable[[], object], within: float = 20.0) -> None:
    def met() -> bool:
        return bool(condition())

    until(met, within)


def apart(work: Callable[[], object]) -> None:
    """Do something that blocks for long."""
    runtime.in_thread(work)
