"""What a forked child must let go of at once.

A lock on a file belongs to the open file, which parent and child share: a parent killed inside the gate
would leave it shut for as long as the child lives. The child closes its copies and touches nothing else.
"""

from typing import Protocol
from weakref import WeakSet

from fencepost._runtime import fork


class Inherited(Protocol):
    def abandon(self) -> None:
        """Close descriptors only: neither unlock, unlink nor delete anything of the parent's."""


_open: "WeakSet[Inherited]" = WeakSet()


def let_go_after_fork(thing: Inherited) -> None:
    _open.add(thing)


def _forked() -> None:
    for thing in list(_open):
        thing.abandon()
    _open.clear()


fork.in_child(_forked)


def never_close(connection: object) -> None:
    """A connection of the parent's must not be closed here, not even when it is collected."""
    import ctypes

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))
