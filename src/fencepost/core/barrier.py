"""A barrier: nobody passes until so many are there, and then all of them do."""

from typing import Any

from fencepost.core.malformed import are_texts, is_integer
from fencepost.core.roster import Member, entered, is_roster

Document = dict[str, Any]


def is_barrier(document: Document) -> bool:
    """Whether a document that anybody may have written is one of a barrier."""
    return (
        is_roster(document)
        and is_integer(document.get("generation", 0))
        and is_integer(document.get("parties", 0 if document.get("present") else 1), least=1)
        and are_texts(document.get("passed", []))
    )


def arrived(document: Document, member: Member, parties: int) -> Document:
    """With that member there. The last one opens the barrier, and the next generation begins with nobody."""
    document = {**entered(document, member), "parties": parties}
    if len(document["present"]) < parties:
        return document
    passed = list(document["present"])
    return {**document, "present": {}, "passed": passed, "generation": generation(document) + 1}


def passed(document: Document, id: str, before: int) -> bool | None:
    """Whether the barrier, which had opened so often when that member came, counted it when it opened next.

    None if it has opened again since, so that nobody knows.
    """
    return id in document.get("passed", ()) if generation(document) == before + 1 else None


def generation(document: Document) -> int:
    """How often it has opened."""
    return int(document.get("generation", 0))


def expects(document: Document) -> int | None:
    """How many those who are there want to be; None if nobody is."""
    return int(document["parties"]) if document.get("present") else None
