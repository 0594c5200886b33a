"""Somebody who waits for others to leave a line, and how it is told."""

from typing import Protocol


class Bell(Protocol):
    def set(self) -> None: ...


class Waiter:
    """`gone`: nodes that went since it last looked; `changed`: nodes to ask for anew, because something else happened
    to them, which ends the telling; `over`: why it need not wait any more.
    """

    __slots__ = ("bell", "changed", "gone", "over")

    def __init__(self) -> None:
        self.gone: set[bytes] = set()
        self.changed: set[bytes] = set()
        self.over: str | None = None
        self.bell: Bell | None = None

    @property
    def stirred(self) -> bool:
        return bool(self.gone or self.changed) or self.over is not None

    def tell(self, path: bytes, *, gone: bool) -> None:
        (self.gone if gone else self.changed).add(path)
        self.ring()

    def end(self, reason: str) -> None:
        self.over = reason
        self.ring()

    def ring(self) -> None:
        if self.bell is not None:
            self.bell.set()
