"""An event as it was read."""

from typing import Any, NamedTuple


class Event(NamedTuple):
    """The `version` of a stream is the number of its last event; the first one has 1."""

    version: int
    body: Any
