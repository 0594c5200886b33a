"""A latch: it counts down to nothing once, and stays open."""

from typing import Any

from fencepost.core.malformed import is_integer

Document = dict[str, Any]


def is_latch(document: Document) -> bool:
    """Whether a document that anybody may have written is one of a latch."""
    if not document.keys() & {"count", "left"}:
        return True
    count = document.get("count")
    return is_integer(count, least=1) and is_integer(document.get("left"), most=count or 0)


def remaining(document: Document, count: int) -> int:
    return int(document.get("left", count))


def counts_from(document: Document) -> int | None:
    """What it began with, as those say who used it; None if nobody did."""
    return document.get("count")


def counted_down(document: Document, count: int, steps: int) -> Document | None:
    """After that many steps more; None if it is open already."""
    left = remaining(document, count)
    return {"count": count, "left": max(0, left - steps)} if left > 0 else None
