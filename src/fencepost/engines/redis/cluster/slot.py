"""Which server has which slot, as servers say it. A host that is empty is the one that says so."""

from fencepost.engines.redis.address import MOST_PORT
from fencepost.engines.redis.key import SLOTS
from fencepost.engines.redis.resp import Reply, ReplyError


def ranges_of(reply: Reply) -> list[tuple[range, str, int]] | None:
    """The answer to CLUSTER SLOTS; None if it can be none: no slot has two masters."""
    if type(reply) is not list:
        return None
    found = []
    total = 0
    for each in reply:
        match each:
            case [int(first), int(last), [bytes() | None as host, int(port), *_], *_] if (
                0 <= first <= last < SLOTS and 0 < port <= MOST_PORT
            ):
                slots = range(first, last + 1)
                total += len(slots)
                found.append((slots, _host(host), port))
            case _:
                return None
    return found if total <= SLOTS else None


def moved_to(error: ReplyError) -> tuple[str, int] | None:
    """Where MOVED points to, as in 'MOVED 3999 127.0.0.1:6381'; None if it does not say."""
    words = str(error).split(" ")
    host, _, port = words[2].rpartition(":") if len(words) > 2 else ("", "", "")
    if not (port.isascii() and port.isdigit() and len(port) <= 5 and 0 < int(port) <= MOST_PORT):
        return None
    return host, int(port)


def _host(said: bytes | None) -> str:
    # A server that does not know its own name says so by nothing, or by '?'.
    host = (said or b"").decode(errors="replace")
    return "" if host == "?" else host
