# Written by hand; the blocking twin under _sync is generated from it.
"""Which names are held or waited for: found by looking through the keys of each node."""

import re
from collections import Counter
from collections.abc import Sequence

from fencepost._runtime import aio as runtime
from fencepost.engines.redis.key import SINGLE
from fencepost.engines.redis.record import names_of
from fencepost.engines.redis.redlock.ballot import Ballot, any_reply
from fencepost.engines.redis.redlock.fleet import aio as fleet
from fencepost.engines.redis.redlock.script import NAMES
from fencepost.errors import Unavailable

# What means something in a pattern of keys.
SPECIAL = re.compile(rb"[][*?^\\-]")
# How often a node may say that there are more keys. It looks through 1,000 at a time.
MOST_PAGES = 10_000
# Once a majority has shown all it has, the others get as many pages again and so many more: a liar has no end.
MORE_PAGES = 10


async def names(nodes: fleet.Fleet, size: int, majority: int, prefix: str, start: str) -> Sequence[str]:
    """The names that begin with `start`, as a majority of the nodes knows them."""
    pattern = SPECIAL.sub(rb"\\\g<0>", (prefix + start).encode()) + b"*"
    patterns = (pattern, SINGLE.prefix + b"queue\0" + pattern)
    where = [b"0"] * size
    found: list[set[bytes]] = [set() for _ in where]
    failed: set[int] = set()
    going = set(range(size))
    page, most = 0, MOST_PAGES
    while going and page < most:
        page += 1
        ballot = Ballot(size, size, any_reply, going)
        await nodes.ask(NAMES, [NAMES.pack([], cursor, *patterns) for cursor in where], ballot)
        for node in list(going):
            reply = ballot.replies[node]
            if reply is None:
                failed.add(node)
            else:
                where[node] = reply[0]
                found[node].update(reply[1])
            if reply is None or reply[0] == b"0":
                going.discard(node)
        if size - len(failed) < majority:
            raise ballot.trouble(majority)
        if size - len(failed | going) >= majority:
            most = min(most, 2 * page + MORE_PAGES)
        if runtime.time_left() <= 0:
            raise Unavailable("the nodes have more keys than could be looked through in time")
    failed |= going
    if size - len(failed) < majority:
        raise Unavailable(f"{len(failed)} of {size} nodes have more keys than can be looked through")
    seen = Counter(lock for node, locks in enumerate(found) if node not in failed for lock in locks)
    enough = majority - len(failed)
    return names_of((lock for lock, count in seen.items() if count >= enough), prefix)
