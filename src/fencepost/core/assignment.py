"""Which member owns which partition: evenly, and moving as few as possible when members come and go."""

from collections.abc import Sequence
from typing import Any

from fencepost.core.roster import is_roster, members

Document = dict[str, Any]
# Their owners are one value to the engine: 15 bytes each, and Consul takes 512 KiB.
MOST_PARTITIONS = 16_384


def is_assignment(document: Document) -> bool:
    """Whether a document that anybody may have written is one of partitions."""
    owners = document.get("owners")
    return is_roster(document) and (
        owners is None or (isinstance(owners, list) and all(each is None or isinstance(each, str) for each in owners))
    )


def assigned(owners: Sequence[str | None], present: Sequence[str]) -> list[str | None]:
    """The owner of each partition. Shares differ by one at most; whoever has no more than its share keeps it all."""
    if not present:
        return [None] * len(owners)
    least, extra = divmod(len(owners), len(present))
    counts = dict.fromkeys(present, 0)
    for owner in owners:
        if owner in counts:
            counts[owner] += 1
    # Those who have most now get the larger shares: then fewer have to move.
    ranked = sorted(present, key=lambda id: -counts[id])
    room = {id: least + (place < extra) for place, id in enumerate(ranked)}
    result: list[str | None] = []
    for owner in owners:
        keeps = owner in room and room[owner] > 0
        if keeps:
            room[owner] -= 1  # type: ignore[index]
        result.append(owner if keeps else None)
    free = iter([id for id in ranked for _ in range(room[id])])
    return [owner if owner is not None else next(free) for owner in result]


def balanced(document: Document, count: int) -> Document | None:
    """With every partition assigned to somebody who is there; None if it is so already."""
    before = owners(document, count)
    after = assigned(before, [member.id for member in members(document)])
    return None if after == before else {**document, "owners": after}


def owners(document: Document, count: int) -> list[str | None]:
    """The owner of each partition."""
    return list(document.get("owners") or [None] * count)


def counts(document: Document) -> int | None:
    """How many partitions there are, as those say who are there; None if nobody did."""
    return len(document["owners"]) if document.get("owners") else None


def owned_by(document: Document, id: str) -> set[int]:
    return {number for number, owner in enumerate(document.get("owners") or ()) if owner == id}
