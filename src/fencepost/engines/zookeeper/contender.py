"""The nodes that stand for asks: how they are called, and what those of other clients mean.

kazoo's `Lock` looks for children that end in '__lock__' and a number, Curator's mutex takes all children and orders
them by what comes after 'lock-'. Ours have such names in every mode, so that both wait for all of ours; what the mode
is stands before that, after the id of the request. Theirs are exclusive to us, save kazoo's readers ('__rlock__').
A name is for ever: who held the lock alone and goes on as a reader says so in the data of its node.
"""

import re
from collections.abc import Iterable
from functools import cached_property, lru_cache
from operator import attrgetter
from typing import NamedTuple

from fencepost.core.claim import Ask, Mode, Request
from fencepost.engines.zookeeper import jute

_MARKS = {"kazoo": ("__lock__", "__rlock__"), "curator": ("lock-",)}
_READER = "__rlock__"
# A name can be as long as somebody likes: what is longer than any of ours is another's.
_OURS = re.compile(r"([0-9a-f]{1,64})-([0-9]{1,19})-([xs]|c([0-9]{1,19})\.([0-9]{1,19}))-")
_DIGITS = 10
# The last number that a server counts to. From there on it gives the same one again, or one below nothing.
_LAST, _ALL = 2**31 - 1, 2**32
_NUMBERED = {
    kind: re.compile(rf"(?:{'|'.join(marks)})([0-9]{{10}}|-[0-9]{{9,10}})\Z") for kind, marks in _MARKS.items()
}


class Contender:
    """A child of a lock's node: a place in its line. What its name says beyond its number is read when it is asked."""

    def __init__(self, node: str, name: str, sequence: int) -> None:
        self.node = node
        self.sequence = sequence
        self._name = name

    def __repr__(self) -> str:
        return f"<Contender '{self.node}' for '{self._name}'>"

    @cached_property
    def ask(self) -> Ask:
        ours = _OURS.match(self.node)
        if ours is None:
            return Ask(self._name, Mode.SHARED if _READER in self.node else Mode.EXCLUSIVE)
        if ours[4]:
            return Ask(self._name, Mode.COUNTED, int(ours[4]), int(ours[5]))
        return Ask(self._name, Mode.SHARED if ours[3] == "s" else Mode.EXCLUSIVE)

    @cached_property
    def owner(self) -> tuple[str, int] | None:
        """The holder's id and the request's serial; None if it is not one of ours."""
        ours = _OURS.match(self.node)
        return None if ours is None else (ours[1], int(ours[2]))

    @property
    def is_in_order(self) -> bool:
        """Whether its number says who came before it."""
        return self.sequence < _LAST

    def as_reader(self) -> "Contender":
        """The same, gone on as a reader."""
        reader = Contender(self.node, self._name, self.sequence)
        reader.ask = self.ask._replace(mode=Mode.SHARED)
        return reader

    def is_of(self, request: Request) -> bool:
        return self.owner == (request.holder.id, request.serial)


class Recipe(NamedTuple):
    """The convention of the clients that we share locks with."""

    kind: str

    def stem(self, request: Request) -> str:
        """The name of the node of a request, up to the number that the server adds."""
        ask = request.asks[0]
        if ask.mode is Mode.EXCLUSIVE:
            mode = "x"
        elif ask.mode is Mode.SHARED:
            mode = "s"
        else:
            mode = f"c{ask.weight}.{ask.limit}"
        return f"{request.holder.id}-{request.serial}-{mode}-{_MARKS[self.kind][0]}"

    def contender(self, node: str, name: str) -> Contender | None:
        """What a child means; None if it is no contender."""
        return _contender(self.kind, node, name)

    def line(self, children: Iterable[bytes], name: str) -> list[Contender]:
        """All contenders, in order of arrival."""
        found = [_contender(self.kind, decoded(child), name) for child in children]
        return sorted((each for each in found if each is not None), key=_sequence)

    def line_before(self, node: bytes, children: list[bytes], name: str) -> list[Contender] | None:
        """Those who stand before the child `node`, in order of arrival; None if it is not there.

        In a long line nobody need know who stands behind.
        """
        number = node[-_DIGITS:]
        return self.line((each for each in children if each[-_DIGITS:] < number), name) if node in children else None


def decoded(child: bytes) -> str:
    """The name of a node: servers keep none that is no text."""
    try:
        return child.decode()
    except UnicodeDecodeError as error:
        raise jute.Malformed from error


_sequence = attrgetter("sequence")


# Each who waits in a line reads it again and again.
@lru_cache(maxsize=10_000)
def _contender(kind: str, node: str, name: str) -> Contender | None:
    found = _NUMBERED[kind].search(node)
    return None if found is None else Contender(node, name, int(found[1]) % _ALL)
