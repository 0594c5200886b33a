"""Who is present, in order of arrival, as a document that all of them share."""

from collections.abc import Collection
from typing import Any, NamedTuple

from fencepost.core.malformed import are_texts

Document = dict[str, Any]


class Member(NamedTuple):
    """One who is there. `id` is its own for as long as it stays; `data` is what it says of itself."""

    id: str
    holder: str
    data: str


def is_roster(document: Document) -> bool:
    """Whether a document that anybody may have written says who is present."""
    present = document.get("present", {})
    return isinstance(present, dict) and all(are_texts(rest, 2) for rest in present.values())


def members(document: Document) -> tuple[Member, ...]:
    return tuple(Member(id, *rest) for id, rest in document.get("present", {}).items())


def entered(document: Document, member: Member) -> Document:
    """With that member, or with what it now says of itself."""
    return {**document, "present": {**document.get("present", {}), member.id: [member.holder, member.data]}}


def left(document: Document, ids: Collection[str]) -> Document | None:
    """Without those; None if none of them is there."""
    present = document.get("present", {})
    if not present.keys() & set(ids):
        return None
    return {**document, "present": {id: rest for id, rest in present.items() if id not in ids}}


def neighbour(document: Document, id: str) -> str | None:
    """Whom a member looks after: the one before it, in a ring. So each is looked after by one other."""
    ids = list(document.get("present", {}))
    if id not in ids or len(ids) < 2:
        return None
    return str(ids[ids.index(id) - 1])
