"""Which token a majority of votes makes.

Each node proposes one with its vote, above all that it has accepted before. A token that a majority has proposed or
accepted while its vote was with us is above every earlier one, and below every later: any two majorities have
a node in common.
"""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple


class Agreement(NamedTuple):
    """`token`, and whether a majority stands behind it already; if not, it must be written back to one first."""

    token: int
    complete: bool


def agree(proposals: Iterable[int], majority: int) -> Agreement:
    found = list(proposals)
    if found.count(found[0]) >= majority:
        return Agreement(found[0], True)
    token, count = Counter(found).most_common(1)[0]
    if count >= majority:
        return Agreement(token, True)
    return Agreement(max(found), False)
