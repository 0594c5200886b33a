# Generated from src/fencepost/session/_async/limit.py by tools/unasync.py. Do not edit: run `make gen`.
"""How long calls of an engine may take, whatever it does."""

from fencepost._runtime import threads as runtime
from fencepost.errors import Unavailable


class Limit(runtime.Limit):
    """No answer by then is no answer."""

    __slots__ = ()
    late = Unavailable
