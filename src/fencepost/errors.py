"""What can go wrong, as one tree.

FencepostError
├── AcquireTimeout (also TimeoutError)   not granted in time; nothing is held
├── NotHeld                              this grant is not held: it was released before
│   └── Lost                             … or taken away: expired, evicted, the engine forgot it
├── Stale                                a fence refused a token lower than one it has seen
├── Uncertain                            the engine did not answer; the outcome is not known yet
├── SessionClosed                        the session was closed, or belongs to another event loop
├── Unsupported                          the engine cannot give what was asked for
├── Conflict                             others use this name in a way that contradicts the ask
└── EngineError
    ├── Unavailable                      no answer: trying again may help
    └── Refused                          the answer was no: trying again will not help

Bad arguments raise ValueError or TypeError before anything is sent.
"""

_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\x1b": "\\e"}


def printable(text: str) -> str:
    """`text` on one line, without anything that a terminal or a log would obey: names, labels and notes are others'."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else _ESCAPES.get(each, f"\\u{ord(each):04x}") for each in text)


class FencepostError(Exception):
    """The root: catching it catches all that fencepost raises on purpose. Its text is safe to show."""

    def __str__(self) -> str:
        return printable(super().__str__())


class AcquireTimeout(FencepostError, TimeoutError):
    """The lock was not granted in time. Nothing is held, and nobody is queued."""


class NotHeld(FencepostError):
    """This grant is not held."""


class Lost(NotHeld):
    """The grant was held and is no longer: whoever holds the lock now has a higher token."""


class Stale(FencepostError):
    """A fence has seen a higher token for this name: the guarded operation did not happen."""

    def __init__(self, name: str, token: int, highest: int) -> None:
        super().__init__(name, token, highest)
        self.name = name
        self.token = token
        self.highest = highest

    def __str__(self) -> str:
        seen = self.highest >= self.token
        why = f"token {self.highest} was seen already" if seen else "what it once claimed is not known any more"
        return printable(f"token {self.token} for '{self.name}' is stale: {why}")


class Uncertain(FencepostError):
    """The engine did not answer in time, so the outcome is unknown; it is settled at the latest when the lease ends."""


class SessionClosed(FencepostError):
    """The session was closed, or belongs to another event loop."""


class Unsupported(FencepostError):
    """The engine cannot give what was asked for."""


class Conflict(FencepostError):
    """Others use this name in a way that contradicts the ask."""


class EngineError(FencepostError):
    """The engine failed; what it was asked may or may not have happened."""


class Unavailable(EngineError):
    """The engine did not answer; trying again may help."""


class Refused(EngineError):
    """The engine answered no, and will again until somebody changes something."""


class FencepostWarning(UserWarning):
    """Something a person should look at, though work goes on."""
