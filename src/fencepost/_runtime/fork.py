"""Which process this is: a number that changes in the child of every fork."""

import os
from collections.abc import Callable
from typing import Any, Protocol
from weakref import WeakSet

# To be read as `fork.current` where a call would show: an import of the name would keep the parent's.
current = 0


class Forked(Protocol):
    def forked(self) -> None:
        """Called in the child of a fork, before anything else runs there."""


_told: "WeakSet[Forked]" = WeakSet()
# What a child has of its parent's. It is not used, and not even collected: to close a connection, a file or an event
# loop here may reach the parent's own, which the kernel takes for the same.
_inherited: list[object] = []


def generation() -> int:
    return current


def tell(thing: Forked) -> None:
    """From now on it is told in each child."""
    _told.add(thing)


def keep_for_ever(*things: object) -> None:
    """In a child, what is the parent's."""
    _inherited.extend(things)


def _forked() -> None:
    global current
    current += 1
    for each in list(_told):
        each.forked()


def in_child(callback: Callable[[], object]) -> None:
    """From now on it is called in each child, before the code that forked goes on there: in the order of these calls.

    One that fails is reported, and keeps no other from being called.
    """
    if _register is not None:
        _register(after_in_child=callback)


# Where it is missing, there are no forks.
_register: Any = getattr(os, "register_at_fork", None)
# The first of all: whatever the others do, they do it in the child.
in_child(_forked)
