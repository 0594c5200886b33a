"""The record of evictions: one value for all names, bounded."""

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable
from typing import NamedTuple

from fencepost.contract.answer import Eviction
from fencepost.core.malformed import STUMBLES, is_integer, is_number, is_text
from fencepost.engines.consul.transaction import Pair

MOST_RECORDS = 500
# Half of what an agent takes as one value.
MOST_BYTES = 256 * 1024


class Removal(NamedTuple):
    """One claim that was taken from its holder, at the server's time."""

    name: str
    token: int
    label: str
    by: str
    at: float


def read_audit(pair: Pair | None) -> list[Removal]:
    """Latest last."""
    if pair is None or not pair.value:
        return []
    try:
        found = [Removal(*each) for each in json.loads(b64decode(pair.value))]
    except STUMBLES:
        # Somebody else has overwritten it. What is told of evictions is no reason to tell nothing of who holds.
        return []
    return [each for each in found if _is_well_formed(each)]


def _is_well_formed(removal: Removal) -> bool:
    name, token, label, by, at = removal
    return all(map(is_text, (name, label, by))) and is_integer(token) and is_number(at)


def write_audit(removals: Iterable[Removal]) -> str:
    kept = list(removals)[-MOST_RECORDS:]
    while len(text := json.dumps(kept, separators=(",", ":"))) > MOST_BYTES:
        del kept[: max(1, len(kept) // 2)]
    return b64encode(text.encode()).decode()


def evictions_of(name: str, removals: list[Removal], now: float) -> tuple[Eviction, ...]:
    """Those of one name, latest first."""
    return tuple(
        Eviction(name, each.token, each.label, each.by, max(0.0, now - each.at))
        for each in reversed(removals)
        if each.name == name
    )


def why_gone(name: str, token: int | None, removals: list[Removal]) -> str | None:
    for each in reversed(removals):
        if (each.name, each.token) == (name, token):
            return f"evicted by {each.by}"
    return None
