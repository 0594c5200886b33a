"""The nodes that stand for asks: how they are called, and what those of other clients mean.

kazoo's `Lock` looks for children that end in '__lock__' and a number, Curator's mutex takes all children and orders
them by what comes after 'lock-'. Ours have such names in every mode, so that both wait for all of ours; what the mode
is stands before that, after the id of the request. Theirs are exclusive to us, save kazoo's readers ('__rlock__').
"""

import re
from typing import NamedTuple

from fencepost.core.claim import Ask, Mode, Request

_MARKS = {"kazoo": "__lock__", "curator": "lock-"}
_THEIRS = {
    "kazoo": re.compile(r"(?:__lock__|__(?P<reader>r)lock__)(?P<sequence>-?\d{10})$"),
    "curator": re.compile(r"lock-(?P<sequence>-?\d{10})$"),
}
_OURS = re.compile(r"(?P<holder>[0-9a-f]{24,32})-(?P<serial>\d+)-(?P<mode>[xs]|c(?P<weight>\d+)\.(?P<limit>\d+))-$")


class Contender(NamedTuple):
    """A child of a lock's node: a place in its line. `holder` is empty where it is not ours."""

    node: str
    sequence: int
    ask: Ask
    holder: str = ""
    serial: int = 0

    def is_of(self, request: Request) -> bool:
        return self.holder == request.holder.id and self.serial == request.serial


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
        return f"{request.holder.id}-{request.serial}-{mode}-{_MARKS[self.kind]}"

    def contender(self, node: str, name: str) -> Contender | None:
        """What a child means; None if it is no contender."""
        found = _THEIRS[self.kind].search(node)
        if found is None:
            return None
        sequence = int(found["sequence"])
        ours = _OURS.match(node, 0, found.start())
        if ours is None:
            reader = found.groupdict().get("reader")
            return Contender(node, sequence, Ask(name, Mode.SHARED if reader else Mode.EXCLUSIVE))
        if ours["weight"]:
            ask = Ask(name, Mode.COUNTED, int(ours["weight"]), int(ours["limit"]))
        else:
            ask = Ask(name, Mode.SHARED if ours["mode"] == "s" else Mode.EXCLUSIVE)
        return Contender(node, sequence, ask, ours["holder"], int(ours["serial"]))

    def line(self, children: list[bytes], name: str) -> list[Contender]:
        """All contenders, in order of arrival."""
        found = [self.contender(child.decode(), name) for child in children]
        return sorted((each for each in found if each is not None), key=lambda each: each.sequence)

    def serial(self, node: str) -> tuple[str, int] | None:
        """Whose node it is, and of which request; None if it is not one of ours."""
        found = self.contender(node, "")
        return None if found is None or not found.holder else (found.holder, found.serial)
