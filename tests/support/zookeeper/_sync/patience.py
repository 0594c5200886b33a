# Generated from tests/support/zookeeper/_async/patience.py by tools/unasync.py. Do not edit: run `make gen`.
"""Waiting for what nothing announces, while our own sessions go on."""

from collections.abc import Callable

from fencepost._runtime import threads as runtime
from fencepost.testing.contract._sync.attempt import until

LASTING = 60.0
# Of one whose lease ends in the test. A call has a third of it.
ENDING = 4.0
# For what comes within seconds, on a machine that is busy with something else.
PATIENCE = 90.0


def so(condition: Callable[[], object], within: float = PATIENCE) -> None:
    def met() -> bool:
        return bool(condition())

    until(met, within)


def apart(work: Callable[[], object]) -> None:
    """Do something that blocks for long."""
    runtime.in_thread(work)
