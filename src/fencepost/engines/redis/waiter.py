"""Somebody who waits for a grant, and how it is told."""

from typing import NamedTuple, Protocol

from fencepost.core.token import check_token


class News(NamedTuple):
    """A message to whoever waits. Without tokens, that it should look."""

    holder: str
    serial: int
    tokens: tuple[int, ...]
    nonce: bytes

    def granted(self, nonce: bytes) -> tuple[int, ...]:
        """Its tokens. They are believed only with the nonce of the request: anybody may publish."""
        return self.tokens if self.nonce == nonce else ()


def news_of(message: bytes) -> News | None:
    """What it says; nothing, if it is none of ours."""
    try:
        holder, serial, tokens, *said = message.decode().split(":")
        granted = tuple(check_token(int(token)) for token in tokens.split(",")) if len(said) == 1 else ()
        return News(holder, int(serial), granted, said[0].encode() if granted else b"")
    except ValueError:
        return None


class Bell(Protocol):
    def set(self) -> None: ...


class Waiter:
    """`stirred` when it should look: at its `tokens` once granted, at `over` when its lease has ended, or again."""

    __slots__ = ("believes", "bell", "over", "stirred", "tokens")

    def __init__(self) -> None:
        self.stirred = False
        # Whether a message is as good as an answer.
        self.believes = True
        self.tokens: tuple[int, ...] = ()
        self.over: str | None = None
        self.bell: Bell | None = None

    def stir(self, tokens: tuple[int, ...] = (), *, over: str | None = None) -> None:
        if tokens:
            self.tokens = tokens
        elif over is not None:
            self.over = over
        self.stirred = True
        if self.bell is not None:
            self.bell.set()

    def doubt(self) -> None:
        """What messages say may be over by now, or soon: from here on they are a reason to look, and no more."""
        self.believes = False

    def ring(self) -> None:
        if self.bell is not None:
            self.bell.set()
