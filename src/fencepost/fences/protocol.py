"""What every fence promises, and the one rule they all apply.

A lock can be held by two processes at once: a pause, a partition or a clock step is enough, and nothing
the lock does can rule it out. What can be ruled out is that the older holder does harm: each grant has a
token higher than all before it, and the resource remembers the highest it was shown, its *mark*.

Reads count. A holder that reads before it has shown its token can be overtaken by an older one that
writes late, and then overwrites that write from what it read. So the order is claim, read, write, and
`guard` is built so that no other order comes out of it.
"""

import re
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

from fencepost._runtime import fork
from fencepost.core.token import LARGEST, check_token
from fencepost.errors import FencepostError, Refused, Stale

_DIGITS = re.compile("[0-9]{1,19}")
Resource_co = TypeVar("Resource_co", covariant=True)


class Tokened(Protocol):
    """Anything that carries a fencing token: a grant, or a message sent on behalf of its holder."""

    @property
    def token(self) -> int: ...


class Fence(Protocol[Resource_co]):
    """A resource that refuses stale tokens.

    For each name the accepted tokens never decrease, and the mark is the highest of them. A mark is kept
    for ever and nothing lowers it: a token outlives the lock it came from, so there is no moment at which
    forgetting one would be safe. Tokens of different names are never compared.

    Guards are short and block the calling thread; never await inside one.
    """

    def claim(self, name: str, grant: Tokened | int) -> None:
        """Show the token: every lower one is refused from now on. Raises `Stale` if it is lower itself.

        For holders that think between reading and writing: claim, read, think, then write under `guard`.
        """

    def guard(self, name: str, grant: Tokened | int) -> AbstractContextManager[Resource_co]:
        """Claim, then run the block, as one atomic step: no other token is accepted before the block ends.

        Raises `Stale` without running the block if the token is lower than the mark. If the block itself
        raises, the claim stands all the same: what was read in the block may still be in use.
        """

    def highest(self, name: str) -> int:
        """The mark of `name`, 0 if no token was ever accepted. For people and tests; it decides nothing."""


def read_mark(text: str | bytes | None) -> int | None:
    """The mark that stands in a store as text; None if it is none: others may have written there what they like.

    Stricter than `int`, which takes signs, spaces and digits of other scripts: stores compare text by text.
    """
    found = text if isinstance(text, str) else (text or b"").decode(errors="replace")
    if not _DIGITS.fullmatch(found):
        return None
    return int(found) if int(found) <= LARGEST else None


def mark_of(name: str, value: object) -> int:
    """The mark that stands in a store as a number."""
    mark = read_mark(str(value))
    if mark is None:
        raise Refused(f"what stands as the mark of '{name}' is no token: somebody else has written it")
    return mark


def check(name: str, token: int, highest: int) -> int:
    """The mark once `token` was shown where `highest` was the mark; raises `Stale` if the token is lower.

    An equal token passes: it is the same holder's second operation.
    """
    if token < highest:
        raise Stale(name, token, highest)
    return token


def check_process(born: int) -> None:
    """In a child of a fork, the guards that its parent was inside of are the parent's: it can not end them."""
    if fork.current != born:
        raise FencepostError("a child that was forked inside a guard can not end it: exit by os._exit()")


def token_of(grant: Tokened | int) -> int:
    """The token of a grant, or the bare token itself."""
    return check_token(grant if isinstance(grant, int) else _token(grant))


def _token(grant: Tokened) -> int:
    try:
        return grant.token
    except AttributeError:
        raise TypeError(
            f"a fence takes a grant or its integer token, not {type(grant).__name__}: pass the grant"
        ) from None
