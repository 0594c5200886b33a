"""How an engine tells of a lost lease before anybody asks."""

from collections.abc import Callable
from typing import Protocol, runtime_checkable


@runtime_checkable
class TellsLoss(Protocol):
    """An engine that may hear of the end of a lease by itself: its connection was closed, its session expired.

    `on_loss` is set by the session, and called with the id of the holder and the reason, from any thread or task.
    An engine without it is asked by renewals, and tells no later than those do.
    """

    on_loss: Callable[[str, str], object] | None
