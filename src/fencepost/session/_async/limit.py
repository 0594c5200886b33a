# Written by hand; the blocking twin under _sync is generated from it.
"""How long calls of an engine may take, whatever it does."""

from fencepost._runtime import aio as runtime
from fencepost.errors import Unavailable


class AsyncLimit(runtime.Limit):
    """No answer by then is no answer."""

    __slots__ = ()
    late = Unavailable
