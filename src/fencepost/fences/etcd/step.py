"""The one transaction of the fence: the token is checked, the mark raised and the work done, or nothing is."""

from collections.abc import Sequence

from fencepost.drivers.etcd import request as ask
from fencepost.drivers.etcd.answer import Outcome
from fencepost.errors import Stale

# As wide as the largest token: etcd compares values as text.
WIDTH = 19


def mark_key(prefix: str, name: str) -> bytes:
    return f"{prefix}{name}".encode()


def mark_value(token: int) -> bytes:
    return b"%0*d" % (WIDTH, token)


def guarded(mark: bytes, token: int, work: Sequence[bytes]) -> bytes:
    """Where the mark is higher: read it. Else raise it, unless it is there already, and do the work."""
    value = mark_value(token)
    raised = ask.nested(ask.transaction([ask.has_value(mark, value)], [], [ask.put(mark, value)]))
    return ask.transaction([ask.has_more(mark, value)], [ask.read(ask.select(mark))], [raised, *work])


def parts_of(outcome: Outcome, name: str, token: int) -> list[object]:
    """What each part of the work gave; raises `Stale` if the mark was higher."""
    parts = outcome.parts
    if outcome.succeeded:
        raise Stale(name, token, int(parts[0].pairs[0].value))
    return parts[1:]
