"""A barrier: nobody passes until so many are there, and then all of them do."""

from typing import Any

from fencepost.core.roster import Member, entered

Document = dict[str, Any]


def arrived(document: Document, member: Member, parties: int) -> Document:
    """With that member there. The last one opens the barrier, and the next generation begins with nobody."""
    document = {**entered(document, member), "parties": parties}
    if len(document["present"]) < parties:
        return document
    return {**document, "present": {}, "generation": generation(document) + 1}


def generation(document: Document) -> int:
    """How often it has opened."""
    return int(document.get("generation", 0))


def expects(document: Document) -> int | None:
    """How many those who are there want to be; None if nobody is."""
    return int(document["parties"]) if document.get("present") else None
