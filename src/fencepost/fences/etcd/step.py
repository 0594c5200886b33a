"""The one transaction of the fence: the token is checked, the mark raised and the work done, or nothing is."""

from collections.abc import Sequence
from typing import Any

from fencepost.core.malformed import Malformed
from fencepost.drivers.etcd import request as ask
from fencepost.drivers.etcd.answer import Found, KeyValue, Outcome
from fencepost.errors import Refused, Stale
from fencepost.fences.protocol import read_mark

# As wide as the largest token: etcd compares values as text.
WIDTH = 19


def mark_key(prefix: str, name: str) -> bytes:
    return f"{prefix}{name}".encode()


def mark_value(token: int) -> bytes:
    return b"%0*d" % (WIDTH, token)


def guarded(mark: bytes, token: int, work: Sequence[bytes]) -> bytes:
    """Where the mark is higher, or lower than any: read it. Else raise it, unless it is there already, and do the work.

    What is lower than any mark was written by somebody else. Nearly all that is no mark is so, or higher than the
    token, and is told from one when it is read; between them is only what begins with zeros as a mark does.
    """
    value = mark_value(token)
    raised = ask.nested(ask.transaction([ask.has_value(mark, value)], [], [ask.put(mark, value)]))
    read = ask.read(ask.select(mark))
    sound = ask.nested(ask.transaction([ask.has_less(mark, mark_value(0))], [read], [raised, *work]))
    return ask.transaction([ask.has_more(mark, value)], [read], [sound])


def parts_of(outcome: Outcome, name: str, token: int, count: int) -> list[Any]:
    """What each part of the work, so many of them, gave. `Stale` if the mark was higher, `Refused` if it is none."""
    if outcome.succeeded:
        raise Stale(name, token, token_in(name, outcome.reads(1)[0]))
    (sound,) = outcome.nested(1)
    if sound.succeeded:
        raise _strange(name)
    parts = sound.parts[1:]
    if len(parts) != count:
        raise Malformed("a transaction was answered without what came of its parts")
    return parts


def token_in(name: str, found: Found) -> int:
    """The mark of a name, 0 if there is none."""
    if not found.pairs:
        return 0
    value = found.pairs[0].value
    mark = read_mark(value)
    # A shorter number would be compared as the text that it is, by its first digits.
    if mark is None or len(value) != WIDTH:
        raise _strange(name)
    return mark


def _strange(name: str) -> Refused:
    return Refused(f"what stands in etcd as the mark of '{name}' is none: somebody else has written it")


def found_in(part: object) -> Found:
    """What a part has read."""
    if not isinstance(part, Found):
        raise Malformed("a read was answered by something else")
    return part


def key_in(pair: KeyValue) -> str:
    try:
        return pair.key.decode()
    except UnicodeDecodeError:
        raise Refused(f"a key in etcd is no text, and so none of those guarded here: {pair.key!r}") from None
