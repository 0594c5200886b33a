"""Who holds a lock and who waits, read off the line of its contenders.

Nothing else is written down. Contenders stand in order of arrival and only ever leave the line, so whoever holds
by what it saw holds by everything that came since: those before it can only have become fewer, or readers.
"""

from collections.abc import Sequence

from fencepost.core.claim import Ask, Mode, admits
from fencepost.engines.zookeeper.contender import Contender


def holding(line: Sequence[Contender]) -> int:
    """How many of the line hold: all up to the first that must wait, whom nobody overtakes."""
    held: list[Ask] = []
    for contender in line:
        if not admits(held, contender.ask):
            break
        held.append(contender.ask)
    return len(held)


def in_the_way(before: Sequence[Contender], ask: Ask) -> list[Contender]:
    """Those of `before` whose departure to watch for: none if the ask is granted.

    As few as possible, so that one departure wakes few, and enough that no chance is missed.
    """
    if ask.mode is Mode.EXCLUSIVE:
        return list(before[-1:])
    if holding(before) == len(before) and admits([each.ask for each in before], ask):
        return []
    others = [each for each in before if each.ask.mode is not ask.mode]
    if others:
        return [others[-1]]
    # Permits only: `least` of those before us must go, so that we can miss all but one of those.
    least = _departures(before, ask)
    return list(before[least - 1 :])


def _departures(before: Sequence[Contender], ask: Ask) -> int:
    """How many of them must leave at the least, the heaviest first, until there is room."""
    excess = sum(each.ask.weight for each in before) + ask.weight - ask.limit
    count = 0
    for weight in sorted((each.ask.weight for each in before), reverse=True):
        if excess <= 0:
            break
        excess -= weight
        count += 1
    return max(1, count)
