# Generated from src/fencepost/engines/consul/_async/limit.py by tools/unasync.py. Do not edit: run `make gen`.
"""How long a call may take in all."""

from fencepost._runtime import threads as runtime
from fencepost._runtime.clock import boottime
from fencepost.errors import Unavailable


class Limit(runtime.Limit):
    """So many seconds, on the clock that connections use."""

    __slots__ = ()
    late = Unavailable

    def __init__(self, seconds: float) -> None:
        super().__init__(runtime.BootClock(), boottime() + seconds)
