"""Who of the contenders holds, and who waits: decided from the queues alone, so that all who look agree.

Nobody writes down that it was granted: whoever finds itself admitted by the rule holds. That is safe because a grant,
once it follows from the queues, follows from them as long as its key is there: contenders that come later stand
behind it, and those before it can only leave, or go on as readers if they hold.
"""

from collections.abc import Mapping, Sequence

from fencepost.core.claim import Ask, Claim, Mode, admits, ahead
from fencepost.engines.etcd.record import Contender

Queues = Mapping[str, Sequence[Contender]]
Requested = tuple[str, int]


def granted(queues: Queues, until: int | None = None) -> set[Requested]:
    """The requests that hold what they asked for; of those created after `until` nothing is said."""
    requests: dict[Requested, dict[str, Contender]] = {}
    for name, queue in queues.items():
        for each in queue:
            if until is None or each.created <= until:
                requests.setdefault(each.request, {})[name] = each
    holding: dict[str, list[Ask]] = {}
    waited_for: set[str] = set()
    found = set()
    for request, parts in sorted(requests.items(), key=lambda item: min(each.created for each in item[1].values())):
        # One that has given back or lost a part of what it asked for was granted all of it before.
        partly = any(name in queues and name not in parts for name in next(iter(parts.values())).names)
        if partly or (
            waited_for.isdisjoint(parts)
            and all(admits(holding.get(name, ()), each.ask) for name, each in parts.items())
        ):
            found.add(request)
            for name, each in parts.items():
                holding.setdefault(name, []).append(each.ask)
        else:
            waited_for.update(parts)
    return found


def is_granted(queues: Queues, request: Requested, asks: Sequence[Ask]) -> bool:
    """Whether this one holds. A plain lock does if it is first: there is nothing else to know of the others."""
    if len(asks) == 1 and asks[0].mode is Mode.EXCLUSIVE:
        return queues[asks[0].name][0].request == request
    return request in granted(queues)


def unknown(queues: Queues) -> set[str]:
    """The names that somebody here asks for as well, and whose queues must be known to say who holds."""
    return {name for queue in queues.values() for each in queue for name in each.names} - queues.keys()


def in_the_way(queues: Queues, names: Sequence[str], request: Requested) -> tuple[Claim, ...]:
    """Who holds the names, or stands before the request."""
    if len(names) == 1 and len(queue := queues[names[0]]) > 1 and queue[-1].request == request:
        # The last in the queue, as whoever has just come is: only the one before it matters.
        return (queue[-2].claim(granted=len(queue) == 2),)
    holders = granted(queues)
    found: list[Claim] = []
    for name in names:
        queue = queues.get(name, ())
        holding = [each.claim(granted=True) for each in queue if each.request in holders]
        waiting = [each.claim(granted=False) for each in queue if each.request not in holders]
        own = next((each.holder for each in waiting if (each.holder.id, each.serial) == request), None)
        found += ahead([*holding, *waiting], own, request[1]) if own is not None else holding
    return tuple(found)
