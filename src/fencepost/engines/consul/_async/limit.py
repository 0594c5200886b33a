# Written by hand; the blocking twin under _sync is generated from it.
"""How long a call may take in all."""

from fencepost._runtime import aio as runtime
from fencepost._runtime.clock import boottime
from fencepost.errors import Unavailable


class AsyncLimit(runtime.Limit):
    """So many seconds, on the clock that connections use."""

    __slots__ = ()
    late = Unavailable

    def __init__(self, seconds: float) -> None:
        super().__init__(runtime.BootClock(), boottime() + seconds)
